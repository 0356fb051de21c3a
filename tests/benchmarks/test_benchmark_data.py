import json

import pytest

from benchmarks.datasets import Dataset, Record, load_folder, skerrin
from benchmarks.retrieval import planted
from ragguard.errors import InvalidInputError


def write(folder, name, *records):
    lines = "\n".join(json.dumps(record) for record in records)
    (folder / f"{name}.jsonl").write_text(lines + "\n", encoding="utf-8")


def record(question="Who?", **more):
    return {"question": question, "hits": [{"text": "a"}, {"text": "b"}, {"text": "a"}], **more}


def test_reads_what_the_folder_holds(tmp_path):
    write(tmp_path, "nq", record(golden="b", poison={"blind": ["x", "y"]}), record("When?"))
    write(tmp_path, "clean_traffic", record())
    nq, clean = load_folder(tmp_path)
    assert (nq.name, clean.name) == ("nq", "clean_traffic")
    assert nq.records[0] == Record("Who?", ("a", "b"), frozenset({"b"}), {"blind": ("x", "y")})
    assert nq.records[1] == Record("When?", ("a", "b"), frozenset(), {})
    assert nq.kinds == ("blind",)
    assert clean.kinds == ()


def test_a_folder_without_datasets_is_an_error(tmp_path):
    with pytest.raises(InvalidInputError, match=r"holds none of nq\.jsonl"):
        load_folder(tmp_path)


@pytest.mark.parametrize("bad", [{"question": "Who?"}, {"hits": []}, ["Who?"], {"hits": 3}])
def test_a_bad_line_is_named(tmp_path, bad):
    write(tmp_path, "nq", record(), bad)
    with pytest.raises(InvalidInputError, match=r"nq\.jsonl:2"):
        load_folder(tmp_path)


def test_even_records_are_for_choosing_and_odd_ones_for_reporting():
    records = tuple(Record(str(i), (), frozenset(), {}) for i in range(7))
    split = Dataset("nq", records, split=True)
    assert [r.question for r in split.choosing] == ["0", "2", "4", "6"]
    assert [r.question for r in split.report] == ["1", "3", "5"]
    assert split.limited(2).report == split.report[:2]
    assert split.limited(None) is split
    own = Dataset("own", records, split=False)
    assert own.choosing == ()
    assert own.report == records
    assert own.limited(2).report == records[:2]


def test_the_own_data_asks_every_question_of_the_whole_knowledge_base():
    own = skerrin()
    assert own.name == "skerrin"
    assert len(own.report) == 64
    for one in own.records:
        assert one.golden
        assert one.golden <= set(one.hits)
        assert set(own.kinds) == set(one.poison)
        assert not any(text in one.hits for texts in one.poison.values() for text in texts)


def test_planted_takes_the_first_texts_in_the_form_asked_for():
    one = Record("Who?", (), frozenset(), {"blind": ("x", "y", "z")})
    assert planted(one, "blind", "prepend", 2) == ["Who? x", "Who? y"]
    assert planted(one, "blind", "plain", 9) == ["x", "y", "z"]
    assert planted(one, "gpt4", "plain", 1) == []
