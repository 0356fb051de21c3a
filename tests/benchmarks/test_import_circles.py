"""No module of the benchmarks imports itself by way of others."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is imported: all but the bodies of its functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, LATER):
            yield child
            yield from at_import(child)


def named(node: ast.AST) -> Iterator[str]:
    """Yield the modules that a statement may import; of names from a module it may be both."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "the benchmarks import by full names"
        yield str(node.module)
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports(folder: Path) -> dict[str, set[str]]:
    """Return the modules below a package's folder, each with those of them that it imports."""
    files = {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        files[".".join(parts).removesuffix(".__init__")] = path
    return {
        module: {
            name
            for node in at_import(ast.parse(path.read_text(encoding="utf-8")))
            for name in named(node)
            if name in files
        }
        for module, path in files.items()
    }


@pytest.mark.slow
def test_no_imports_run_in_a_circle() -> None:
    found = imports(ROOT / "benchmarks")
    assert "benchmarks.plugins" in found["benchmarks.cells"]
    order = list(TopologicalSorter(found).static_order())
    assert order.index("benchmarks.datasets") < order.index("benchmarks.datasets.sources")


def test_a_circle_is_found_and_what_is_imported_later_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "one.py").write_text("from pack.inner import two\n")
    (folder / "inner" / "__init__.py").write_text("")
    later = folder / "inner" / "two.py"
    later.write_text("def late():\n    import pack.one\n")
    assert list(TopologicalSorter(imports(folder)).static_order())
    later.write_text("class Early:\n    import pack.one\n")
    with pytest.raises(CycleError):
        list(TopologicalSorter(imports(folder)).static_order())
