"""Background half: which passages are responsible for a response."""
