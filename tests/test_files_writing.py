"""Files with what users asked are their owner's alone, and files are replaced whole."""

import json
import os
import stat
import threading

import pytest

from ragguard.cli.app import app
from ragguard.files import make_private, write_whole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")


@pytest.fixture(autouse=True)
def _common_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_and_one_that_is_there_is_left_alone(tmp_path):
    make_private(tmp_path / "new")
    assert mode(tmp_path / "new") == 0o600
    (tmp_path / "old").write_text("kept")
    make_private(tmp_path / "old")
    assert mode(tmp_path / "old") == 0o644
    assert (tmp_path / "old").read_text() == "kept"


def test_where_no_file_can_be_made_the_caller_finds_out(tmp_path):
    make_private(tmp_path / "missing" / "new")
    assert not (tmp_path / "missing").exists()


def test_a_file_is_replaced_with_its_mode_and_a_new_one_has_the_usual(tmp_path):
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_bytes(b"old")
    old.chmod(0o640)
    for path in (new, old):
        write_whole(path, [b"one\n", b"two\n"])
        assert path.read_bytes() == b"one\ntwo\n"
    assert (mode(new), mode(old)) == (0o644, 0o640)
    assert sorted(tmp_path.iterdir()) == [new, old]


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path):
    def lines():
        yield b"new"
        raise OSError(28, "No space left on device")

    path = tmp_path / "old"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, lines())
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_pipe_is_written_to(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, [b"one\n", b"two\n"])
    reader.join(10.0)
    assert read == [b"one\ntwo\n"]
    assert pipe.is_fifo()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["filter", "explain"])
def test_what_commands_write_of_traffic_is_private(command, tmp_path):
    from typer.testing import CliRunner

    if command == "explain":
        pytest.importorskip("matplotlib")
    out = tmp_path / "out.svg"
    traffic = tmp_path / "traffic.jsonl"
    traffic.write_text(json.dumps({"query": "Why?", "passages": ["Bread rises.", "Rye is dense."]}))
    assert CliRunner().invoke(app, [command, str(traffic), "-o", str(out)]).exit_code == 0
    assert out.stat().st_size > 0
    assert mode(out) == 0o600
