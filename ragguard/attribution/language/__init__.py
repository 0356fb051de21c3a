"""What a response says: its claim, or that it refuses."""
