"""The size, the shape and the cost of the code: `python -m tests.measure_house [CHECKOUT ...]`.

Prints one column per checkout, such as those of two commits, so that a rebuilding can be judged by numbers.
"""

import ast
import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.measure_harness import ROOT, measure
from tests.test_architecture import find_cycles, import_graph

LONG, TURNS = 60, 3
COUNT_CALLS = """
import sys
from pathlib import Path
from olbench.cli import cli
from olbench.protocols.definition import Cell

calls, trial = [], Cell.trial
Cell.trial = lambda *given, **setting: calls.append(1) or trial(*given, **setting)
try:
    cli(["run", "quick", "--quiet", "--jobs", "1", "--out", sys.argv[1]], standalone_mode=False)
except SystemExit as end:
    assert not end.code
print(len(calls) / len((Path(sys.argv[1]) / "trials.jsonl").read_text().splitlines()))
"""


def measure_text(root: Path) -> dict[str, float]:
    """Return what can be counted without running anything."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((root / "olbench").rglob("*.py"))}
    lines = [source.splitlines() for source in sources.values()]
    every = [line for file in lines for line in file]
    trees = {path: ast.parse(source) for path, source in sources.items()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    modules = {name_module(path.relative_to(root / "olbench")): source for path, source in sources.items()}
    return {
        "lines": len(every),
        "code lines": sum(map(count_code_lines, lines, trees.values())),
        "files": len(sources),
        "median file length": statistics.median(map(len, lines)),
        f"functions over {LONG} lines": sum(node.end_lineno - node.lineno >= LONG for node in functions),
        "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
        "lines with Any": sum("Any" in line for line in every),
        "lines with # fmt: skip": sum("# fmt: skip" in line for line in every),
        "import cycles, lazy ones included": len(find_cycles(import_graph(modules))),
        "layers": count_layers(root),
    }


def name_module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def count_code_lines(lines: list[str], tree: ast.Module) -> int:
    """Return the lines that are neither blank nor a comment nor in a docstring."""
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    docstrings = {
        number
        for node in texts
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for number in range(node.lineno, node.end_lineno + 1)
    }
    code = (number for number, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#")
    return sum(number not in docstrings for number in code)


def count_layers(root: Path) -> int:
    tree = ast.parse((root / "tests/test_architecture.py").read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    [layers] = [node.value for node in assigned if ast.unparse(node.targets[0]) == "LAYERS"]
    return len(ast.literal_eval(layers))


def run_python(root: Path, *words: str) -> tuple[str, float]:
    """Return what a program prints with the code of a checkout, and its CPU seconds."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, *words]
    with subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True) as process:
        printed = process.stdout.read() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return printed, used.ru_utime + used.ru_stime


def measure_runs(root: Path) -> dict[str, float]:
    """Return what has to be run: counted calls, and the best or median of several measurements."""
    with tempfile.TemporaryDirectory() as folder:
        calls = float(run_python(root, "-c", COUNT_CALLS, folder)[0].splitlines()[-1])
    run = partial(run_python, root, "-m", "olbench")
    harness = statistics.median(measure(root)[0] for _ in range(TURNS))
    return {
        "calls of Cell.trial per trial of `run quick`": calls,
        "CPU seconds of --help": min(run("--help")[1] for _ in range(TURNS)),
        "CPU seconds of report scw": min(run("report", "scw")[1] for _ in range(TURNS)),
        "ms of harness per trial": harness,
    }


def main() -> None:
    """Measure the checkouts and print them side by side."""
    roots = [Path(word).resolve() for word in sys.argv[1:]] or [ROOT]
    columns = [{**measure_text(root), **measure_runs(root)} for root in roots]
    print(f"{'':46}", *(f"{root.name:>12}" for root in roots))
    for name in columns[0]:
        print(f"{name:46}", *(f"{column[name]:>12,.6g}" for column in columns))


if __name__ == "__main__":
    main()
