"""Pages of the service: rendered on the server, readable without scripts, with nothing loaded from elsewhere.

Imports `desk`, and `graphs` and `plotting` for the studio. Start with `routes` (all addresses, and the login). `render`
fills templates and shows invisible characters as text. `ask` shows a question's accuracy, price and answer: `asked_form`
has its form, `menus` writes the SQL of what is chosen, `fields` reads numbers, and gathers mistakes by the field that they
are in. `office` has budgets, requests and the owner's page, `interface` describes the interface for programs. `studio`
draws mechanisms: `drawn_graph` reads graphs from text and files and has examples, `svg` computes positions.
"""
