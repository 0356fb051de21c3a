"""The features: what may speak against one passage, one file each, by the literature's name."""
