"""CONTRIBUTING.md names the file and the function of each equation."""

import ast
import re

import pytest

from tests.docs.claims import ROOT

_CODE = re.compile(r"`([^`]+)`")


def _rows():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("## Where each equation is\n")[2].partition("\n\n")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return [(cell[0], _CODE.findall(cell[2]), _CODE.findall(cell[3])) for cell in cells]


ROWS = _rows()


def _defined(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {one.name for one in ast.walk(tree) if isinstance(one, (ast.ClassDef, ast.FunctionDef))}


@pytest.mark.parametrize(("files", "names"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_the_files_of_an_equation_define_its_names(files, names):
    defined = [_defined(file) for file in files]
    assert names
    assert all(any(name in found for found in defined) for name in names)
    assert all(found.intersection(names) for found in defined)
