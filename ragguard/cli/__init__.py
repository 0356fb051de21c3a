"""The `ragguard` command."""

from ragguard.cli.app import main

__all__ = ["main"]
