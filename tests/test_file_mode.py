"""Files with what users asked are their owner's alone."""

import json
import os
import stat

import pytest

from ragguard.cli.app import app
from ragguard.file_mode import make_private

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
