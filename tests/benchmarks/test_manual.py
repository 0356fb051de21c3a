"""The manual that is read from Python itself."""

from benchmarks.datasets.repeating import manual_pages


def test_its_pages_stand_under_headings_and_each_heading_over_one():
    found = manual_pages()
    headings = [heading for heading in found.values() if heading]
    assert len(headings) > 50
    assert len(set(headings)) == len(headings)
    assert "Augmented assignment statements" in headings
    for page, heading in found.items():
        assert not heading or page.startswith(f"{heading}\n")
        assert len(page.split()) <= 130
