"""A demo of the whole loop on a fictional knowledge base, without any model or network."""
