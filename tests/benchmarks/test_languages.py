"""Clean queries and planted texts in several languages."""

import json

import pytest

from benchmarks.languages import DISGUISES, PLANTED, main, measured, reported, tables
from benchmarks.report.result import read

ENGLISH = {
    "language": "en",
    "question": "When was the lighthouse of Marrow Bay built by the crown?",
    "golden": "It is old. The lighthouse of Marrow Bay was built in 1874, and lit in May. It is.",
    "correct_answer": "1874",
    "incorrect_answer": "1911",
}
OTHERS = ["Wool was sold on Mondays.", "A mill stood by the ford.", "The tide turns at noon."]
RECORDS = [
    {**ENGLISH, "language": language, "hits": [{"text": t} for t in (ENGLISH["golden"], *OTHERS)]}
    for language in ("en", "en", "en", "xx", "xx")
]


def test_what_is_planted_by_hand():
    assert PLANTED["answer"](ENGLISH) == "1911"
    assert PLANTED["sentence"](ENGLISH) == (
        "The lighthouse of Marrow Bay was built in 1911, and lit in May."
    )
    assert PLANTED["paragraph"](ENGLISH) == ENGLISH["golden"].replace("1874", "1911")
    # Where no sentence ends, what stands near the answer.
    long = {**ENGLISH, "golden": f"{'sand ' * 99}1874{' wool' * 99}"}
    assert 200 < len(PLANTED["sentence"](long)) < 300
    assert " 1911 " in PLANTED["sentence"](long)
    assert PLANTED["sentence"]({**ENGLISH, "golden": "Nothing."}) == "1911"


def test_disguises_by_hand():
    assert DISGUISES["spaced"]("pi?") == "p i ?"
    assert DISGUISES["swapped"]("abcdefghijklmno") == "abcdfeghijlkmno"
    assert DISGUISES["with gaps"]("abcdefghijklmnopqrstu") == "abcdefghiklmnopqrsu"
    assert DISGUISES["without marks"]("B\u00e0o n\u0103m \u0e17\u0e35\u0e48") == "Bao nam \u0e17"


@pytest.mark.parametrize(("half", "queries"), [(0, [2, 1]), (1, [1, 1])])
def test_each_language_is_counted_in_every_setting(half, queries):
    rows = list(measured(RECORDS, half))
    assert [row["language"] for row in rows] == ["en"] * 4 + ["xx"] * 4
    assert [row["queries"] for row in rows[::4]] == queries
    for row in rows:
        assert row["touched"] == row["right_page_lost"] == 0
        found = {kind: row["found"][kind] for kind in (*PLANTED, "spaced", "zero-width")}
        assert found == dict.fromkeys(found, row["queries"])
    reports = list(reported(RECORDS, half))
    assert [row["events"] for row in reports] == queries
    clean, attacked, blamed = tables({"languages": rows, "reports": reports})
    assert [row[1:] for row in blamed.rows] == [(str(n), "100.0 %", "100.0 %") for n in queries]
    assert clean.rows[0] == ("en", str(queries[0]), *["0.0 %"] * 5)
    assert attacked.rows[-1][:4] == ("all", *["100.0 %"] * 3)


def test_from_a_folder_to_a_result(tmp_path):
    lines = [json.dumps(record) for record in RECORDS]
    (tmp_path / "languages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = tmp_path / "result.json"
    main(["--data", str(tmp_path), "--half", "0", "--limit", "1", "--json", str(out)])
    result = read(out)
    assert result["command"].endswith(f"--data {tmp_path.name} --limit 1 --half 0")
    assert [row["queries"] for row in result["sections"]["languages"]] == [1] * 8
    assert main([]) == 2
