"""What the command does today, kept byte for byte. `python -m golden` in tests/ writes it anew: the diff shows what changed.

Every command runs in this process with chance taken from a fixed stream in place of the system's, in a folder with the
inputs of `given/`. Kept are its exit code, what it prints, and every JSON file it writes; times and hashes of a ledger's
entries, which depend on the clock, are left out. The ledger and certificates in `given/` were written by a version before
this one.
"""
