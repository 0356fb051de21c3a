"""What the distribution promises: extras that can be installed, and a source with all it needs."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_no_extra_names_a_package_of_ours_that_is_not_published(project):
    # Whoever registers such a name would be installed with it.
    name = project["project"]["name"]
    extras = project["project"]["optional-dependencies"]
    for needed in (one for requirements in extras.values() for one in requirements):
        package, _, inner = re.match(r"([\w.-]+)(\[([\w,-]+)\])?", needed).groups()
        if package == name:
            assert set(inner.split(",")) <= set(extras)
        else:
            assert "ragguard" not in package


def test_the_source_holds_what_stands_at_the_top_and_no_parts_of_the_integrations(project):
    patterns = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all(pattern.startswith("/") for pattern in patterns)
    for pattern in patterns:
        assert (ROOT / pattern.removeprefix("/")).exists()
    for file in ROOT.glob("*.md"):
        assert f"/{file.name}" in patterns


def test_no_module_is_longer_than_can_be_read_at_once():
    modules = [
        path
        for room in ("ragguard", "benchmarks", "integrations", "examples")
        for path in (ROOT / room).rglob("*.py")
        if "tests" not in path.parts
    ]
    assert len(modules) > 100
    assert [one for one in modules if one.read_text(encoding="utf-8").count("\n") > 300] == []


def test_what_ci_runs_once_has_no_optional_part(project):
    tests = Path(__file__).parent
    said = (tests / "conftest.py").read_text(encoding="utf-8")
    whole, in_part = (
        found.split("|")
        for found in re.findall(r'_KEPT_FROM\w* = re.compile\(\s*"\(([\w|]+)\)/', said)
    )
    assert whole == ["inline", "text", "admission", "attribution"]
    assert in_part == ["audit", "background", "demo", "hostile"]
    assert '|test_(guard|calibrator|determinism)"' in said
    contracts = project["tool"]["importlinter"]["contracts"]
    [kept_away] = [one for one in contracts if "torch" in one.get("forbidden_modules", ())]
    parts = {"calibrator", "guard", "guard_decisions", "guard_parts", "guard_reports", "filtering"}
    rooms = parts.union(whole, in_part) - {"hostile"}  # these tests have no package of their own
    assert {f"ragguard.{room}" for room in rooms} <= set(kept_away["source_modules"])
    for room in whole[:1]:  # text asks for tokenizers in one test
        text = "".join(path.read_text(encoding="utf-8") for path in tests.glob(f"{room}/**/*.py"))
        assert re.findall("importorskip|skipif|mark.(?:torch|peer|data|postgres)", text) == []


def test_nothing_holds_a_lock_that_a_fork_may_find_taken():
    # That of a `functools.cached_property` is one for the whole class on Python 3.11, so that the
    # child of a fork waits for ever for a thread that it does not have.
    sources = (ROOT / "ragguard").rglob("*.py")
    said = {path.name: path.read_text(encoding="utf-8") for path in sources}
    assert "fork.py" in said
    assert [name for name, text in said.items() if "import cached_property" in text] == []
