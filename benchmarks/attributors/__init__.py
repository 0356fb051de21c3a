"""Baselines of attribution, on the interface of the methods that ragguard ships."""
