from __future__ import annotations

import numpy as np
import pytest

from ragguard.export.parity import Gate, Parity, compare


class TestParity:
    def test_by_hand(self):
        ours = (np.array([[-1.0], [-2.0]]), np.array([[-1.0, -3.0], [-2.0, -2.5]]))
        theirs = (np.array([[-1.0], [-2.5]]), np.array([[-1.0, -3.0], [-2.0, -1.5]]))
        parity = compare([ours], [theirs])
        # Six tokens, differences 0.5 and 1.0; the two contexts change places: -2, -2.25 and
        # -2, -1.75.
        assert parity == Parity(1.0, 0.25, pytest.approx(-1.0), None, None)

    @pytest.mark.parametrize(
        ("right", "expected"),
        [([1, 2, 3, 4], 1.0), ([4, 3, 2, 1], -1.0), ([2, 1, 4, 3], 0.6), ([1, 3, 2, 4], 0.8)],
    )
    def test_rank_correlation(self, right, expected):
        none = np.zeros((4, 1))
        left = (none, np.array([[10.0], [20.0], [30.0], [40.0]]))
        found = compare([left], [(none, np.array(right, dtype=float)[:, None])])
        assert found.rank_correlation == pytest.approx(expected)

    def test_nan_fails_the_gate(self):
        nan = float("nan")
        gate = Gate(1.0, 1.0, 0.5, 1.0, 0.1)
        assert len(gate.failures(Parity(nan, nan, nan, nan, nan))) == 5
        assert gate.failures(Parity(1.0, 1.0, 0.5, 1.0, 0.1)) == []

    def test_verdicts_alone_fail_the_gate(self):
        gate = Gate(1.0, 1.0, 0.5, 1.0, 0.1)
        assert gate.failures(Parity(0.0, 0.0, 1.0, 0.9, 0.0)) == ["same_blame 0.9000 < 1.0"]
        assert gate.failures(Parity(0.0, 0.0, 1.0, 1.0, 0.2)) == ["relative_error 0.2 > 0.1"]

    def test_verdicts_that_were_not_compared_fail_no_gate_and_token_errors_still_do(self):
        gate = Gate(1.0, 1.0, 0.5, 1.0, 0.1)
        assert gate.failures(Parity(0.0, 0.0, 1.0, None, None)) == []
        assert gate.failures(Parity(2.0, 0.0, 1.0, None, None)) == ["max_token_error 2 > 1"]
