"""The architecture holds: the engine knows no protocol or paper by name, and a paper can be removed."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Container
from pathlib import Path

import pytest

from tests.conftest import COMPILED

PACKAGE = Path(__file__).resolve().parents[1] / "olbench"
SOURCES = sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


def read_modules() -> dict[str, str]:
    """Return the programs of the package by module."""
    return {module_name(path): path.read_text(encoding="utf-8") for path in SOURCES}


def imported_modules(source: str, known: Container[str]) -> set[str]:
    """Return which known modules a program imports, inside of functions too, but not for type checkers.

    `from package import module` imports the module, and any other name the package itself.
    """
    found, nodes = set(), [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            nodes += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            package = node.module.removeprefix("olbench.")
            names = {f"{package}.{alias.name}" for alias in node.names}
            found |= {name if name in known else package for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("olbench.") for alias in node.names}
        nodes += ast.iter_child_nodes(node)
    return {name for name in found if name in known}


def import_graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return which modules each module imports."""
    return {name: imported_modules(source, sources) - {name} for name, source in sources.items()}


def find_cycles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules that reach each other."""
    reached = {name: set(imported) for name, imported in graph.items()}
    while True:
        wider = {name: own.union(*(reached[other] for other in own)) for name, own in reached.items()}
        if wider == reached:
            break
        reached = wider
    return {
        frozenset(other for other in own if name in reached[other])
        for name, own in reached.items()
        if name in own
    }


def test_no_cycle_hides_behind_an_import_inside_a_function():
    assert find_cycles(import_graph(read_modules())) == set()


def test_compiled_code_takes_functions_and_constants_from_the_folders_that_key_its_cache():
    """Otherwise tests would run code that was compiled before a change."""
    rooms = tuple(name.replace("/", ".") for name in COMPILED)
    decorators = {"inlined", "kernel", "pass_kernel", "helper", "njit", "intrinsic"}
    compiled = {}
    for name, source in read_modules().items():
        nodes = list(ast.walk(ast.parse(source)))
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        marks = {re.split(r"\W", ast.unparse(mark))[0] for each in functions for mark in each.decorator_list}
        if marks & decorators:
            compiled[name] = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    assert {"kernels.covariance", "data.readers.parsing"} <= compiled.keys()
    assert [name for name in compiled if not name.startswith(rooms)] == []
    taken = {
        f"{node.module}.{alias.name}"
        for imports in compiled.values()
        for node in imports
        for alias in node.names
        if node.module.startswith("olbench.") and not node.module.removeprefix("olbench.").startswith(rooms)
    }
    # Types, and what the Python code around a kernel uses.
    constants = {name for name in taken if name.rpartition(".")[2].isupper()}
    functions = {name for name in taken if name.rpartition(".")[2].islower()}
    assert constants == set()
    assert functions <= {
        "olbench.algorithms.algorithm.make_algorithm",
        "olbench.learners.examples.as_examples",
    }


def matching(pattern: str, *rooms: str, among: str = "*.py") -> dict[str, list[str]]:
    """Return the lines that match, by file, in some folders and files of the package or in all."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob(among)):
        if rooms and path.relative_to(PACKAGE).parts[0].removesuffix(".py") not in rooms:
            continue
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if re.search(pattern, line)]
        if lines:
            found[str(path.relative_to(PACKAGE))] = lines
    return found


def test_the_engine_imports_no_concrete_protocol():
    sources = read_modules()
    concrete = {name for name, source in sources.items() if "\n@protocol\n" in source}
    assert {"protocols.online", "protocols.crossval"} <= concrete
    rooms = {"engine", "records", "report", "cli"}
    graph = import_graph(sources)
    found = {name: concrete & imported for name, imported in graph.items() if name.split(".")[0] in rooms}
    assert {name: named for name, named in found.items() if named} == {}


def test_no_code_depends_on_the_id_of_a_paper():
    """Ids of papers are in papers/; elsewhere in citations, help texts and comments only."""
    ids = "|".join(path.parent.name for path in (PACKAGE / "papers").glob("*/numbers.yaml"))
    for name in matching(ids):
        if name.startswith("papers/"):
            continue
        tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
        compared = [
            node.lineno
            for node in ast.walk(tree)
            if isinstance(node, ast.Compare | ast.Call | ast.Subscript | ast.Match)
            for part in ast.iter_child_nodes(node)
            if isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and re.fullmatch(ids, part.value)
        ]
        assert compared == [], name


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the package, beside what ships with it, and a place for what it compiles."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(PACKAGE, root / "olbench", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("configs", "datasets", "results"):
        (root / name).symlink_to(PACKAGE.parent / name)
    return root


@pytest.mark.parametrize("paper", ["adviceptron2010", "libol2013"])
def test_a_paper_can_be_removed(paper, copied, tmp_path):
    folder = copied / "olbench/papers" / paper
    places = {"PYTHONPATH": copied, "OLBENCH_CACHE": tmp_path, "NUMBA_CACHE_DIR": copied / "numba"}
    environment = os.environ | {name: str(path) for name, path in places.items()}

    def run(*words):
        words = [sys.executable, *words]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    folder.rename(tmp_path / paper)
    try:
        assert run("-c", "import olbench; print(olbench.__file__)").startswith(str(copied))
        assert "scw1" in run("-m", "olbench", "algorithms")
        run("-c", "from olbench.estimators import AROW")
        short = ("permutations=2", "algorithms=[perceptron, pa1]")
        run("-m", "olbench", "run", "quick", *(f"--set={each}" for each in short), "--out", "quick")
        assert "pa1" in run("-m", "olbench", "report", "quick", "--format", "csv")
    finally:
        (tmp_path / paper).rename(folder)


#: What takes longer to import than a verb that does not need it should take.
HEAVY = (
    "numpy", "yaml", "rich", "scipy", "scipy.special", "scipy.sparse", "scipy.stats", "scipy.optimize",
    "numba", "pandas", "matplotlib", "sklearn", "joblib", "jinja2",
)  # fmt: skip
#: What each command imports of these, and nothing else. `{small}` is the folder of a run, `{table}` a table.
IMPORTED = {
    "list": "rich",
    "data list": "numpy yaml rich",
    "data info ijcnn1": "numpy yaml",
    "algorithms": "numpy yaml rich scipy scipy.sparse",
    "algorithms scw1": "numpy yaml scipy scipy.sparse",
    "init --schema": "numpy yaml scipy scipy.sparse",
    "report scw": "numpy yaml rich scipy scipy.special scipy.sparse",
    "summary {small}": "numpy yaml rich scipy scipy.special scipy.sparse",
    "init {table}": "numpy yaml scipy scipy.sparse pandas",
    "run quick --dry-run": "numpy yaml rich scipy scipy.special scipy.sparse numba joblib",
}
COMMAND = """
import sys
from olbench.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*(name for name in HEAVY if name in sys.modules))
"""


@pytest.mark.parametrize("command", IMPORTED)
def test_a_command_imports_what_it_needs(command, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b,label\n1,2,x\n2,1,y\n")
    words = command.format(small=Path(__file__).parent / "report/small", table=table).split()
    done = subprocess.run(
        [sys.executable, "-c", f"HEAVY = {HEAVY}\n{COMMAND}", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()[-1].split()) <= set(IMPORTED[command].split())


def test_the_help_of_every_verb_imports_nothing_heavy():
    program = (
        f"HEAVY = {HEAVY}\nimport sys\nfrom click.testing import CliRunner\n"
        "from olbench.cli import VERBS, cli\n"
        "for verb in VERBS:\n    assert CliRunner().invoke(cli, [verb, '--help']).exit_code == 0\n"
        "print([name for name in HEAVY if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
