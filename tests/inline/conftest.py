"""Retrieved sets for the tests of the inline half, and their slow references on the path."""

import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))


@pytest.fixture
def random_rows():
    """Return a function that makes random unit rows, no two of which are equal."""

    def make(seed: int, n: int, d: int = 8) -> np.ndarray:
        rows = np.random.default_rng(seed).normal(size=(n, d))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return make
