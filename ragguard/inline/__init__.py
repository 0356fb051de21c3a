"""Inline half: evidence, gate, grouping, isolation, verdict."""
