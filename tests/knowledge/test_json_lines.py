"""A file of passages: what stays in it does so byte for byte, and it is replaced or left."""

import json
import os
from pathlib import Path

import pytest

from ragguard.errors import InvalidInputError, StoreError
from ragguard.knowledge.json_lines import JsonLinesFile
from ragguard.passage import Passage

LINES = (
    b'{"text": "Eels live at the weir.",  "id": 8, "lang": "en"}\r\n'
    b"\n"
    b'"a text alone"\n'
    b'{"id": "x", "text": "planted \\ud800", "metadata": {"source": "s"}, "embedding": [1, 0.5]}'
)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "kb.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + LINES)
    file.chmod(0o640)
    return file


def test_a_passage_goes_and_comes_back_as_it_was_and_the_others_stay(path):
    base = JsonLinesFile(path)
    assert [one.text for one in base.find(["8", Passage("a text alone").id, "none"])] == [
        "Eels live at the weir.",
        "a text alone",
    ]
    (taken,) = base.remove(["x", "none"])
    assert (taken.text, taken.metadata) == ("planted \ud800", {"source": "s"})
    first, _, second = LINES.splitlines(keepends=True)[:3]
    assert path.read_bytes() == first + second
    base.add([taken])
    (back,) = base.find(["x"])
    assert back == taken
    assert list(back.embedding) == [1, 0.5]
    assert path.stat().st_mode & 0o777 == 0o640
    assert [*path.parent.iterdir()] == [path]


def test_a_passage_with_a_known_id_is_replaced_and_of_two_with_one_id_both_go_in(path):
    base = JsonLinesFile(path)
    base.add([Passage("first", id="x"), Passage("last", id="x")])
    assert [one.text for one in base.find(["x"])] == ["first", "last"]
    base.add(base.remove(["x"]))
    assert [one.text for one in base.find(["x"])] == ["first", "last"]
    base.add([Passage("new", id="x")])
    assert [one.text for one in base.find(["x"])] == ["new"]


def test_ids_that_a_database_would_not_take_are_found(path):
    base = JsonLinesFile(path)
    base.add([Passage("odd", id="\ud800\0\n")])
    assert [one.text for one in base.remove(["\ud800\0\n"])] == ["odd"]


def test_nothing_is_written_for_nothing(path):
    before = path.stat()
    base = JsonLinesFile(path)
    assert base.remove(["none"]) == []
    base.add([])
    assert path.stat() == before


def test_a_link_stays_a_link(path):
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    JsonLinesFile(link).remove(["x"])
    assert link.is_symlink()
    assert JsonLinesFile(path).find(["x"]) == []


@pytest.mark.skipif(not hasattr(os, "chown"), reason="needs owners")
@pytest.mark.parametrize("may", [True, False])
def test_owner_and_group_stay_where_the_process_may_set_them(path, monkeypatch, may):
    asked = []

    def chown(file, owner, group):
        asked.append((owner, group))
        if not may:
            raise PermissionError

    monkeypatch.setattr("os.chown", chown)
    found = path.stat()
    JsonLinesFile(path).remove(["x"])
    assert sorted(asked) == [(-1, found.st_gid), (found.st_uid, -1)]
    assert path.stat().st_mode & 0o777 == 0o640
    assert JsonLinesFile(path).find(["x"]) == []


def test_a_file_that_somebody_writes_at_that_moment_is_left_alone(path, monkeypatch):
    def late(descriptor):
        path.write_text('"another"\n')

    monkeypatch.setattr("os.fsync", late)
    with pytest.raises(StoreError, match="try again"):
        JsonLinesFile(path).remove(["x"])
    assert path.read_text() == '"another"\n'
    assert [*path.parent.iterdir()] == [path]


def test_a_disk_that_is_full_changes_nothing(path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InvalidInputError, match="No space left on device"):
        JsonLinesFile(path).add([Passage("more")])
    assert path.read_bytes() == before
    assert [*path.parent.iterdir()] == [path]


def test_a_bad_line_or_no_file_is_named_and_nothing_is_changed(path):
    path.write_bytes(LINES + b"\n{}\n")
    with pytest.raises(InvalidInputError, match=r"kb\.jsonl:5"):
        JsonLinesFile(path).remove(["x"])
    assert path.read_bytes() == LINES + b"\n{}\n"
    with pytest.raises(InvalidInputError, match="cannot read"):
        JsonLinesFile(Path("none.jsonl")).find(["x"])


def test_metadata_that_is_no_json_is_written_as_text(path):
    JsonLinesFile(path).add([Passage("text", id="n", metadata={"at": Path("a")})])
    assert json.loads(path.read_bytes().splitlines()[-1])["metadata"] == {"at": "a"}


def test_the_file_is_read_anew_when_it_has_changed_and_only_then(path, monkeypatch):
    base, read = JsonLinesFile(path), []
    parse = JsonLinesFile._read
    monkeypatch.setattr(JsonLinesFile, "_read", lambda self: read.append(1) or parse(self))
    assert [one.id for one in base.find(["x", "8", "x"])] == ["x", "8"]
    assert base.find(["none"]) == []
    assert len(read) == 1
    path.write_bytes(path.read_bytes() + b'\n{"id": "new", "text": "More."}')
    assert [one.text for one in base.find(["new"])] == ["More."]
    assert len(read) == 2
    path.unlink()
    with pytest.raises(InvalidInputError, match="cannot read"):
        base.find(["new"])


def test_a_file_of_the_same_size_and_time_is_read_anew(path):
    base = JsonLinesFile(path)
    before, data = path.stat(), path.read_bytes()
    assert base.find(["x"])
    path.write_bytes(data.replace(b"planted", b"changed"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert base.find(["x"])[0].text.startswith("changed")
