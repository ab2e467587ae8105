"""The architecture holds: layers import downwards only, and the engine knows no protocol or paper by name."""

import ast
import re
import subprocess
import sys
from collections.abc import Container
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.conftest import COMPILED

PACKAGE = Path(__file__).resolve().parents[1] / "olbench"
SOURCES = sorted(PACKAGE.rglob("*.py"))
#: From the bottom to the top. A layer imports itself and what is below it; modules of one layer may know each
#: other (a learner may be a contestant's object, and a contestant is a learner). A file that serves
#: another layer than its folder does is a room of its own.
LAYERS = (
    ("errors",),
    ("discovery", "display", "files"),
    ("shipped",),
    ("memory",),
    ("quantities", "measures"),
    ("yaml_lines",),
    ("structs",),
    ("kernels",),
    ("algorithms",),
    ("learn", "advice"),
    ("estimators",),
    ("config.specs", "config.columns"),
    ("data",),
    ("trials",),
    ("stats", "blocks"),
    ("protocols",),
    ("trials.run_file", "trials.verify", "trials.baseline"),
    ("papers",),
    ("trials.bundle",),
    ("config",),
    ("engine",),
    ("audit", "papers.*.audit", "forensics", "conformance"),
    ("report", "papers.*.illustrations"),
    ("api", "plot"),
    ("cli",),
    ("__init__", "__main__"),
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def room_of(module: str) -> str:
    """Return the most particular room that holds a module, named without the package; empty if none does."""
    parts = module.split(".")
    heads = (parts[:length] for length in range(len(parts), 0, -1))
    return next((room for head in heads for room in LEVEL if _is(head, room.split("."))), "")


def _is(parts: list[str], room: list[str]) -> bool:
    return len(parts) == len(room) and all(map(fnmatchcase, parts, room))


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


def read_modules() -> dict[str, str]:
    """Return the programs of the package by module."""
    return {module_name(path): path.read_text(encoding="utf-8") for path in SOURCES}


def imported_modules(source: str, known: Container[str], typed: bool = False) -> set[str]:
    """Return which known modules a program imports, inside of functions too, but not for type checkers.

    `from package import module` imports the module, and any other name the package itself. With `typed`,
    imports for type checkers count.
    """
    found, nodes = set(), [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not typed:
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


def test_every_room_has_a_layer():
    assert {room_of(module_name(path)) for path in SOURCES} == LEVEL.keys()


def test_imports_go_downwards():
    known, upwards = {*map(module_name, SOURCES)}, []
    for path in SOURCES:
        name = module_name(path)
        imported = imported_modules(path.read_text(encoding="utf-8"), known, typed=True)
        upwards += [(name, other) for other in imported if LEVEL[room_of(other)] > LEVEL[room_of(name)]]
    assert upwards == []


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
    rooms = {"engine", "trials", "report", "cli", "papers", "config"}
    graph = import_graph(sources)
    found = {name: concrete & imported for name, imported in graph.items() if name.split(".")[0] in rooms}
    assert {name: named for name, named in found.items() if named} == {}


def test_no_code_depends_on_the_id_of_a_paper():
    """Ids of papers are in papers/ and audit/; elsewhere in citations, help texts and comments only."""
    ids = "|".join(path.parent.name for path in (PACKAGE / "papers").glob("*/numbers.yaml"))
    rooms = {room.split(".")[0] for room in LEVEL} - {"papers", "audit"}
    for name in matching(ids, *rooms):
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
