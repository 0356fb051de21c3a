"""From rows of single questions to figures with their intervals."""
