"""Adaptive attacks: what an attacker who knows the whole guard can still do to it."""
