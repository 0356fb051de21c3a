"""The picture of the README shows what the demo prints."""

import pytest

from tests.docs.claims import ROOT
from tests.docs.picture import PICTURE, excerpt

PRINTED = """ragguard demo

1. Clean
a
\x1b[1m2. Planted\x1b[0m
b

3. Filtered
c
4. Reported
d

\x1b[1;32mThe loop closed\x1b[0m: e
f (8.6 s).
Next: g
"""


def test_an_excerpt_has_its_parts_in_order():
    assert excerpt(PRINTED) == (
        "\x1b[1m2. Planted\x1b[0m\nb\n\n3. Filtered\nc\n\n\x1b[1;32mThe loop closed\x1b[0m: e\nf."
    )


def test_a_demo_that_prints_something_else_is_an_error():
    with pytest.raises(ValueError, match=r"3\. "):
        excerpt(PRINTED.replace("3. Filtered", "Filtered"))


def test_the_picture_is_in_the_readme_and_loads_nothing():
    assert f"(docs/{PICTURE.name})" in (ROOT / "README.md").read_text(encoding="utf-8")
    drawn = PICTURE.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "url(http" not in drawn
    assert 'url("http' not in drawn
    for part in ("dropped,", "kept,", "The&#160;loop&#160;closed"):
        assert part in drawn
