"""Pages of the service, for people who would rather look: rendered here, readable without a script, nothing from elsewhere.

Imports `desk`, and `graphs` and `plotting` for the studio. Start with `routes` (every address, and the door).
`render` makes a page of a template, and shows what would steer a screen as text. `ask` has the question and its answer
(`asked_form` is its form, `menus` writes the SQL of what is chosen), `office` budgets, requests and what the owner sees,
`interface` the description for programs. `studio` draws mechanisms: `drawn_graph` reads graphs from text and files, and has
some, `svg` places it all.
"""
