"""A demo of the whole loop on a fictional knowledge base, without network."""
