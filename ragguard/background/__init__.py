"""Who runs attributions: an in-process worker by default."""
