"""What a run found, on pages and in files."""
