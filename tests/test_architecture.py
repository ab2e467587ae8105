"""The architecture holds: packages import in one direction, and nothing depends on a paper."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache

from tests import ROOT

PACKAGE = ROOT / "olbench"
#: From first to last: a package imports only itself, its equals in one text, and packages before it.
LINE = (
    "errors files memory structs plugins", "kernels", "algorithms", "learners", "data", "records",
    "protocols", "engine", "analysis", "report plot", "papers", "estimators", "conformance", "api", "cli",
    "__init__ __main__",
)  # fmt: skip
PLACE = {package: place for place, packages in enumerate(LINE) for package in packages.split()}


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


def package_of(module: str) -> str:
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


def test_no_import_goes_up():
    assert {package_of(module) for module in read_modules()} == PLACE.keys()
    pairs = [(module, other) for module in read_modules() for other in imported_by(module)]
    assert [each for each in pairs if PLACE[package_of(each[1])] > PLACE[package_of(each[0])]] == []


def test_no_module_reaches_itself():
    reached = {module: imported_by(module) for module in read_modules()}
    while (wider := {name: own.union(*map(reached.get, own)) for name, own in reached.items()}) != reached:
        reached = wider
    assert [name for name, own in reached.items() if name in own] == []


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
        if PLACE[package_of(module)] >= PLACE["papers"]:
            continue
        asked = (node for node in ast.walk(tree) if isinstance(node, ast.Compare | ast.Subscript | ast.Match))
        parts = (part for node in asked for part in ast.walk(node) if isinstance(part, ast.Constant))
        found = [part.value for part in parts if isinstance(part.value, str)]
        assert [each for each in found if re.fullmatch(rf"{ids}|advice|shards?", each)] == [], module


#: Removes one paper at a time from a copy of the package and uses the rest in a new process. A run without
#: compiled code is quick, and so is a process that has the other libraries from the start.
REMOVAL = """
import os, sys
from pathlib import Path
import joblib, numba, pandas, scipy.stats, sklearn.datasets, yaml

def use():
    import olbench
    from olbench.algorithms import definitions
    from olbench.estimators import AROW
    from olbench.data.catalog import catalog
    assert olbench.__file__ == str(Path("olbench/__init__.py").resolve())
    assert "scw1" in [each.id for each in definitions()] and "splice" in catalog()
    config = {"datasets": ["breast-cancer"], "algorithms": ["row-by-row"], "permutations": 1}
    assert olbench.run({**config, "plugins": [sys.argv[1]]}, paper, jobs=1).labels == ["row-by-row"]

for paper in sys.argv[2:]:
    Path("olbench/papers", paper).rename("removed")
    if not os.fork():
        use()
        os._exit(0)
    print(paper, os.wait()[1])
    Path("removed").rename(Path("olbench/papers", paper))
"""


def test_any_paper_can_be_removed(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "olbench", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("configs", "datasets", "results"):
        (tmp_path / name).symlink_to(ROOT / name)
    papers = sorted(path.parent.name for path in PACKAGE.glob("papers/*/numbers.yaml"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "OLBENCH_CACHE": str(tmp_path / "cache")}
    words = [sys.executable, "-c", REMOVAL, str(ROOT / "tests/crossings/contestants.py"), *papers]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout == "".join(f"{paper} 0\n" for paper in papers), done.stderr
