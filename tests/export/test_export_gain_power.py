"""The power of gains: what makes those of a proxy comparable with the lexical proxy's."""

from __future__ import annotations

import numpy as np
import pytest

from ragguard.attribution.ragorigin.support import STATING_GAIN, SupportMeter
from ragguard.export import power_of_gains
from ragguard.export.parity import BlameScope
from ragguard.proxy import Scores

QUERY, CLAIM = "Who designed the bridge?", "Orla Venn"


class Rising:
    """Scores a context by the number that it begins with: the rise of the response."""

    def score(self, contexts, query, response):
        known = {"": 0.0, QUERY: 0.0, CLAIM: 10.0}
        rises = [known[text] if text in known else float(text.split(",")[0]) for text in contexts]
        return Scores(np.zeros(len(contexts)), np.array(rises) - 12.0)


def scope(planted, others):
    texts = [f"{rise}, {place}" for place, rise in enumerate((*planted, *others))]
    flags = [True] * len(planted) + [False] * len(others)
    return BlameScope(tuple(texts), QUERY, CLAIM, tuple(flags))


def test_the_gain_that_parts_planted_passages_becomes_the_one_that_states():
    scopes = [scope((5, 6, 8), (0, 1, 3)), scope((), (9, 9))]
    proxy = Rising()
    power = power_of_gains(proxy, scopes)
    assert power == pytest.approx(np.log(STATING_GAIN) / np.log(0.4), abs=1e-3)
    proxy.gain_power = power
    meter = SupportMeter(proxy, QUERY, CLAIM)
    low, high = meter.gains(["3.9", "4.1"])
    assert low < STATING_GAIN < high


@pytest.mark.parametrize(
    "scopes",
    [
        [scope((), (1, 2))],
        [scope((1, 2), (1, 2))],
        [scope((1, 8), (2, 9, 3))],
        [scope((5, 5), (5, 5))],
    ],
    ids=["nothing planted", "alike", "the other way round", "all the same"],
)
def test_a_proxy_that_parts_nothing_keeps_its_gains(scopes):
    assert power_of_gains(Rising(), scopes) == 1.0


def test_clear_gains_are_not_lowered():
    assert power_of_gains(Rising(), [scope((9, 9.5), (7, 8))]) == 1.0
