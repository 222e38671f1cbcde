"""`python -m polyrule` is the command line."""

from polyrule.cli import main

main()
