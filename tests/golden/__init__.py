"""The command's present behaviour, byte for byte. `python -m golden` in tests/ records it anew: the diff shows what
changed.

Every command runs in this process, with a fixed stream in place of the system's randomness, in a folder with the inputs
of `given/`. Recorded are its exit code, what it prints, and every JSON file it writes; times and hashes of a ledger's
entries, which depend on the clock, are left out. The ledger and certificates in `given/` were written by an earlier
version.
"""
