"""Defences, one file each; a file's name is the defence's in suites and tables."""
