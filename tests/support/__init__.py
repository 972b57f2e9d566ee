"""What tests share: oracles, cases, servers, and settings of test runs. Imported as `support`, from the folder
`TESTS`."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
"""On the path of a process that a test starts, `support` is found there too."""
