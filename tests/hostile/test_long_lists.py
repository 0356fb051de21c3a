"""Long lists can be timed."""

from tests.hostile.long_lists import rows


def test_every_list_is_timed():
    found = list(rows((2, 4), (1,)))
    assert [row[1] for row in found] == [2, 4]
    assert all(cost >= 0.0 for row in found for cost in row[2:])
