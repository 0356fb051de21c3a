"""Puts the repository root on the path: the benchmark is run from there and never installed."""

import logging
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture(autouse=True)
def _what_is_logged():
    # Commands silence the log of their own process; tests share theirs with all others.
    logger = logging.getLogger("ragguard")
    before = logger.level
    yield
    logger.setLevel(before)
