"""Suites: which cells a run measures; a TOML file each."""
