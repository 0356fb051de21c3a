from __future__ import annotations

import json

import numpy as np
import pytest

from ragguard.admission.base import SIGNS, Base, as_base, shipped_base, shipped_shares
from ragguard.errors import CalibrationError, InvalidInputError


def made(count=200):
    manner = np.arange(float(count))
    base = Base.of(manner)
    return base.with_tails({"manner": base.measured(manner)})


def test_manner_is_measured_from_the_middle_in_spreads():
    base = Base.of(np.arange(101.0))  # median 50, 90th percentile 90
    assert (base.count, base.middle, base.spread) == (101, 50.0, 40.0)
    assert base.measured(np.array([50.0, 130.0, -np.inf])).tolist() == [0.0, 2.0, -np.inf]


def test_what_is_in_another_language_has_no_part_in_the_middle():
    values = np.append(np.arange(101.0), [-np.inf] * 500)
    assert (Base.of(values).middle, Base.of(values).count) == (50.0, 601)
    assert Base.of(values[60:]).middle == shipped_base().middle  # 41 passages are too few
    assert Base.of(np.full(500, 7.0)).spread > 0.0


def test_above_counts_the_passages_with_as_much():
    hidden = np.array([1.0, 2.0, 2.0, 5.0] + [-np.inf] * 96)
    base = Base(100, 0.0, 1.0).with_tails({"hidden": hidden})
    assert base.count == 100
    assert base.above("hidden", np.array([6.0, 5.0, 2.0, 1.5, 0.5, -np.inf])).tolist() == [
        0, 1, 3, 3, 4, 100,
    ]  # fmt: skip
    assert base.above("gibberish", np.array([1.0, -np.inf])).tolist() == [0, 100]


def test_a_tail_holds_one_passage_in_twenty():
    assert len(made(200).tails["manner"]) == 10
    assert made(200).above("manner", np.array([-9.0])).tolist() == [200]


def test_a_saved_base_comes_back(tmp_path):
    made().save(tmp_path / "base.json")
    read = as_base(tmp_path / "base.json")
    assert read.to_json() == made().to_json()
    assert as_base(read) is read
    assert as_base(None) is None


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1, "count": 0, "middle": 0, "spread": 1, "tails": {}}',
        '{"format": 1, "count": 5, "middle": 1e999, "spread": 1, "tails": {}}',
        '{"format": 1, "count": 5, "middle": [], "spread": 1, "tails": {}}',
        '{"format": 1, "count": 5, "middle": 0, "spread": 0, "tails": {}}',
        '{"format": 1, "count": 5, "middle": 0, "spread": 1, "tails": {"manner": ["a"]}}',
        '{"format": 1, "count": 5, "middle": 0, "spread": 1, "tails": {"manner": [[]], "x": {}}}',
    ],
)
def test_a_damaged_file_says_how_to_make_another(tmp_path, broken):
    (tmp_path / "base.json").write_text(broken)
    with pytest.raises(CalibrationError, match="ragguard scan --save-base"):
        as_base(tmp_path / "base.json")


def test_what_cannot_be_read_or_written_is_told(tmp_path):
    with pytest.raises(CalibrationError, match="make it with `ragguard scan --save-base`"):
        as_base(tmp_path / "none.json")
    with pytest.raises(CalibrationError, match="cannot write the base"):
        made().save(tmp_path / "none" / "base.json")


def test_a_base_that_cannot_be_written_whole_stays_as_it_was(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    path = tmp_path / "base.json"
    made().save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CalibrationError, match="No space left on device; pass a path"):
        made().save(path)
    assert path.read_bytes() == before
    with pytest.raises(InvalidInputError, match="a path or None, not int"):
        as_base(5)


def test_the_shipped_base_knows_every_sign_that_may_spend_alpha():
    assert sum(shipped_shares().values()) == pytest.approx(1.0)
    assert set(shipped_shares()) == set(shipped_base().tails) == set(SIGNS)
    assert shipped_base().count > 20_000
    # JSON keeps it small.
    assert len(json.dumps(shipped_base().to_json())) < 50_000
