"""Small language models that score text under a context."""
