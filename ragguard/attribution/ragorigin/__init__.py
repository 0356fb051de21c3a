"""RAGOrigin: the paper's parts by equation, and beside them the heuristics that are ours."""
