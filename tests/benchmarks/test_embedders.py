"""Vectors that are kept on disk, with no model needed."""

import numpy as np

from benchmarks.embedders import MiniLM


def test_no_text_is_embedded_twice_and_a_later_run_reads_what_is_kept(tmp_path, monkeypatch):
    asked = []

    def compute(self, texts):
        asked.extend(texts)
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    monkeypatch.setattr(MiniLM, "_compute", compute)
    first = MiniLM(tmp_path, tmp_path / "kept").embed(["a", "bcd", "a"])
    later = MiniLM(tmp_path, tmp_path / "kept").embed(["bcd", "ef", "a"])
    assert asked == ["a", "bcd", "ef"]
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(later[[2, 0]], first[:2])
    np.testing.assert_allclose(np.linalg.norm(later, axis=1), 1.0, rtol=1e-6)
