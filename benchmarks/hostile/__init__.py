"""Texts that somebody writes to break, slow down or get past the guard; made, not stored."""
