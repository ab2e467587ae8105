"""The architecture holds: rooms in a line, and papers that nothing depends on."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache

import pytest

from tests import ROOT

PACKAGE = ROOT / "olbench"
#: From the first to the last: a room imports itself and rooms before it. Modules of one line are equals.
LINE = (
    "errors files memory structs plugins", "kernels", "algorithms", "learners", "data", "records",
    "protocols", "engine", "analysis", "report plot", "papers", "estimators", "conformance", "api", "cli",
    "__init__ __main__",
)  # fmt: skip
PLACE = {room: place for place, rooms in enumerate(LINE) for room in rooms.split()}


@cache
def read_modules() -> dict[str, ast.Module]:
    """Return the programs of the package by module, named without the package."""
    files = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in sorted(PACKAGE.rglob("*.py"))}
    return {
        ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts): ast.parse(
            path.read_text()
        )
        for parts, path in files.items()
    }


def room_of(module: str) -> str:
    return module.split(".")[0]


@cache
def imported_by(module: str) -> set[str]:
    """Return the modules that a module imports, inside of functions too, but not for type checkers."""
    found, nodes = set(), [read_modules()[module]]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            base = node.module.removeprefix("olbench.")
            names = {f"{base}.{alias.name}" for alias in node.names}
            found |= {name if name in read_modules() else base for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("olbench.") for alias in node.names}
        nodes += ast.iter_child_nodes(node)
    return found & read_modules().keys() - {module}


def test_every_room_has_a_place():
    assert {room_of(module) for module in read_modules()} == PLACE.keys()


def test_no_import_goes_up():
    pairs = [(module, other) for module in read_modules() for other in imported_by(module)]
    assert [each for each in pairs if PLACE[room_of(each[1])] > PLACE[room_of(each[0])]] == []


def test_no_module_reaches_itself():
    reached = {module: imported_by(module) for module in read_modules()}
    while (wider := {name: own.union(*map(reached.get, own)) for name, own in reached.items()}) != reached:
        reached = wider
    assert [name for name, own in reached.items() if name in own] == []


def test_every_room_says_what_it_is_for():
    rooms = [
        module
        for module in read_modules()
        if (PACKAGE / module / "__init__.py").is_file() and "." not in module
    ]
    said = {room: ast.get_docstring(read_modules()[room]) or "" for room in rooms}
    assert {room: text for room, text in said.items() if len(text.splitlines()) < 3} == {}


def test_no_paper_imports_another():
    papers = {path.parent.name for path in PACKAGE.glob("papers/*/numbers.yaml")}
    for module in read_modules():
        parts = module.split(".")
        named = {other.split(".")[1] for other in imported_by(module) if other.startswith("papers.")} & papers
        assert parts[0] != "papers" or named <= {*parts[1:2]}, f"{module} imports {named}"


def test_no_code_before_the_papers_depends_on_one():
    """Ids of papers are in citations, help texts and comments only, and nothing asks for advice or shards."""
    ids = "|".join(path.parent.name for path in PACKAGE.glob("papers/*/numbers.yaml"))
    for module, tree in read_modules().items():
        if PLACE[room_of(module)] >= PLACE["papers"]:
            continue
        asked = (node for node in ast.walk(tree) if isinstance(node, ast.Compare | ast.Subscript | ast.Match))
        parts = (part for node in asked for part in ast.walk(node) if isinstance(part, ast.Constant))
        found = [part.value for part in parts if isinstance(part.value, str)]
        assert [each for each in found if re.fullmatch(rf"{ids}|advice|shards?", each)] == [], module


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the package, beside what ships with it, and a place for what it compiles."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(PACKAGE, root / "olbench", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("configs", "datasets", "results"):
        (root / name).symlink_to(PACKAGE.parent / name)
    return root


QUICK = """
import olbench
from olbench.algorithms import definitions
from olbench.estimators import AROW
from olbench.data.catalog import catalog
assert "scw1" in [each.id for each in definitions()] and "splice" in catalog()
short = ["permutations=2", "algorithms=[perceptron, pa1]"]
print(olbench.__file__, olbench.run("quick", "quick", set=short, jobs=1).labels)
"""


@pytest.mark.parametrize("paper", sorted(path.parent.name for path in PACKAGE.glob("papers/*/numbers.yaml")))
def test_a_paper_can_be_removed(paper, copied, tmp_path):
    folder = copied / "olbench/papers" / paper
    places = {"PYTHONPATH": copied, "OLBENCH_CACHE": copied / "cache", "NUMBA_CACHE_DIR": copied / "numba"}
    environment = os.environ | {name: str(path) for name, path in places.items()}
    folder.rename(tmp_path / paper)
    try:
        words = [sys.executable, "-c", QUICK]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    finally:
        (tmp_path / paper).rename(folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{copied / 'olbench/__init__.py'} ['perceptron', 'pa1']\n"
