"""What reads the passages that are left and answers the question."""
