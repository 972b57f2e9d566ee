"""The values that pass between tables, ledger, service and commands: small, frozen, with numbers in them."""
