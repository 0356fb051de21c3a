"""Pages that carry a question of their own."""

import json

from benchmarks.datasets.repeating import LAYOUTS, annotated


def test_every_second_page_stands_in_each_layout_with_its_own_question(tmp_path):
    rows = [
        {"source": "s", "context": f"Page {n} says so.", "question": f"why does page {n} say so"}
        for n in range(4)
    ]
    rows.append({"source": "s", "context": "Short.", "question": "why is it"})
    lines = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "reading_comprehension.jsonl").write_text(lines, encoding="utf-8")
    groups = {name: (pages, asked) for name, _, pages, asked in annotated(tmp_path, 1)}
    assert len(groups) == len(LAYOUTS) + 2
    pages, asked = groups["question on every page: labels"]
    assert asked == ["why does page 1 say so", "why does page 3 say so"]
    assert pages[0] == "Question: why does page 1 say so Answer: Page 1 says so."
    pages, asked = groups["quotes a page: sentence"]
    assert all(part in page for part, page in zip(asked, pages, strict=True))
