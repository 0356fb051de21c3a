"""RAGDefender (Kim, Lee and Koo 2025): grouping (Eq. 1 to 3), then isolation (Eq. 4 to 7)."""
