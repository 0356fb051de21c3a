from __future__ import annotations

import pytest

from ragguard.admission.profile import hidden_characters


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("plain words", 0),
        ("co\u00adoperate", 0),  # a soft hyphen
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", 0),  # a joiner of Persian
        ("\u03b1-helix and \u03bcm, 5 k\u03a9", 0),
        ("\U0001f468\u200d\U0001f469", 0),  # a family
        ("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", 0),  # a flag
        ("w\u200bord", 1),
        ("one\u200b two", 0),
        ("w\u200cord", 1),
        ("\u202edrow", 1),
        ("p\u0430ss", 2),  # a Cyrillic letter between two Latin ones
        ("tag\U000e0041\U000e0042", 2),
        ("1\ufe0f\u20e3 \u2764\ufe0f\u200d\U0001f525 \u845b\U000e0100", 0),  # one form each
        ("\u263a\ufe04\U000e0158\U000e0159", 2),  # bytes
    ],
)
def test_places_are_counted(text, count):
    assert hidden_characters(text) == count
