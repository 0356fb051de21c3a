"""Attacks, one file each; a file's name is the attack's in suites and tables."""
