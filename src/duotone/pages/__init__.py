"""Pages of the service: rendered on the server, readable without scripts, with nothing loaded from elsewhere.

Imports `desk`, and `graphs` and `plotting` for the studio. Start with `routes` (all addresses, and the login). `render`
fills templates and shows invisible characters as text. `ask` has the form of a question and its answer (`menus`
writes the SQL of what is chosen), `office` has budgets, requests and the owner's page, `interface` describes
the interface for programs. `studio` draws mechanisms: `drawn_graph` reads graphs from text and files and has examples,
`svg` computes positions.
"""
