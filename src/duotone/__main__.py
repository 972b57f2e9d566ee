"""`python -m duotone`."""

from duotone.cli.app import main

main()
