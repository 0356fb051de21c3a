"""Embedders, and what turns the embedders of other libraries into ours."""
