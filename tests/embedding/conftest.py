"""Models small enough to make in a test."""

import pytest

WORDS = ["[UNK]", "pier", "lamp", "tide", "gull", "?"]


@pytest.fixture(scope="session")
def tiny_tokenizer():
    """A tokenizer of six words."""
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    model = tokenizers.models.WordLevel(
        {word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return tokenizer
