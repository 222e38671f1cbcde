"""The command line. Nothing heavy is imported before a command needs it, so that help appears at once."""

from polyrule.cli.app import app, main

__all__ = ["app", "main"]
