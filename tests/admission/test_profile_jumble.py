from __future__ import annotations

import pytest

from ragguard.admission.profile import jumble
from ragguard.inline.features.gibberish import gibberish

ODD = "lamp sudden hurry coincidentally wants leased genus mayor obviously both"


def test_the_oddest_run_counts_alone():
    assert jumble(f"The keeper lit it. {ODD}, and went home to his wife.") == gibberish(ODD.split())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Lamp Sudden Hurry Coincidentally Wants Leased Genus Mayor Obviously Both",
        "lamp, sudden, hurry, coincidentally, wants, leased, genus, mayor, obviously, both",
        "lamp 1 sudden 2 hurry 3 coincidentally 4 wants 5 leased 6 genus 7 mayor 8",
    ],
)
def test_names_lists_and_tables_are_no_jumble(text):
    assert jumble(text) == 0.0


@pytest.mark.parametrize("text", ["a" * 300_000, "a " * 150_000, "a'" * 150_000, "a'a" * 100_000])
def test_it_is_linear_in_the_text(text):
    assert jumble(text) < 1.0
