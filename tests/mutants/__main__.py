"""Change one thing in the package at a time and see whether a test notices: `python -m tests.mutants`.

A mutant is the package with one expression or statement changed. It is killed if a related test fails, or if
the tests take far too long. A mutant that survives shows what no test looks at. One that no input can tell
from the package is equivalent; equivalent.txt lists these with their reasons.
"""

import argparse
import hashlib
import json
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.mutants.operators import Mutant, choose, find_mutants
from tests.mutants.table import ROOT, list_modules, tests_of
from tests.mutants.workshop import Workshop, import_libraries

EQUIVALENT = Path(__file__).with_name("equivalent.txt")


def digest(*contents: bytes) -> str:
    """Return a short hash."""
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:16]


def digest_tests(module: str) -> str:
    """Return a hash of the tests of a module: what survived them may not survive others."""
    files = dict.fromkeys(each.partition("::")[0] for each in tests_of(module))
    return digest(*(ROOT.joinpath(file).read_bytes() for file in files))


def read_outcomes(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last outcome of each mutant."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {outcome["id"]: outcome for outcome in map(json.loads, lines)}


def read_equivalent() -> dict[str, str]:
    """Return the patterns of equivalent mutants, each with the reason above it."""
    reasons, reason = {}, ""
    for line in EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []:
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            reasons[line.strip()] = reason
    return reasons


def judge(mutant: Mutant, outcome: dict[str, Any] | None, equivalent: dict[str, str]) -> str:
    """Return killed, survived, equivalent or untried."""
    if outcome is None:
        return "untried"
    if outcome["status"] != "survived":
        return "killed"
    return "equivalent" if any(fnmatchcase(mutant.key, each) for each in equivalent) else "survived"


def main() -> int:
    """Try the mutants that have no outcome yet, then print the table and the survivors."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="which mutants are chosen")
    parser.add_argument("--count", type=int, default=330, help="about how many mutants")
    parser.add_argument("--only", default="", help="modules that begin with this, such as kernels.dual")
    parser.add_argument(
        "--outcomes", type=Path, required=True, help="JSON lines; a second run goes on from them"
    )
    parser.add_argument("--report", action="store_true", help="print what is known, and try nothing")
    options = parser.parse_args()
    modules = list_modules()
    chosen = [
        each for each in choose(options.seed, options.count, modules) if each.module.startswith(options.only)
    ]
    sources = {module: path.read_bytes() for module, path in modules.items()}
    ids = {mutant: digest(sources[mutant.module], mutant.key.encode()) for mutant in chosen}
    known = read_outcomes(options.outcomes)
    equivalent = read_equivalent()
    tests = {module: digest_tests(module) for module in modules}

    def is_open(mutant: Mutant) -> bool:
        outcome = known.get(ids[mutant])
        old = outcome is None or (
            outcome["status"] == "survived" and outcome["tests"] != tests[mutant.module]
        )
        return old and judge(mutant, outcome, equivalent) != "equivalent"

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    todo = [] if options.report else [mutant for mutant in chosen if is_open(mutant)]
    if todo:
        import_libraries()
    with tempfile.TemporaryDirectory(prefix="olbench-mutants-") as folder:
        workshop = Workshop(Path(folder)) if todo else None
        for number, mutant in enumerate(todo, start=1):
            outcome = workshop.try_mutant(mutant)
            outcome = {
                "id": ids[mutant],
                "key": mutant.key,
                "line": mutant.line,
                "tests": tests[mutant.module],
                **outcome,
            }
            with options.outcomes.open("a") as file:
                file.write(json.dumps(outcome) + "\n")
            known[ids[mutant]] = outcome
            print(f"{number}/{len(todo)} {outcome['status']} {outcome['seconds']} s {mutant.key}", flush=True)
    for pattern in [] if options.only else find_unused(equivalent, modules):
        print(f"equivalent.txt: there is no such mutant: {pattern}")
    return report({mutant: known.get(ids[mutant]) for mutant in chosen}, equivalent)


def find_unused(equivalent: dict[str, str], modules: dict[str, Path]) -> list[str]:
    """Return the patterns that match nothing any more."""
    keys = [mutant.key for name, path in modules.items() for mutant in find_mutants(name, path.read_bytes())]
    return [pattern for pattern in equivalent if not any(fnmatchcase(key, pattern) for key in keys)]


def report(outcomes: dict[Mutant, dict[str, Any] | None], equivalent: dict[str, str]) -> int:
    """Print the table by module and the survivors; return 1 if 5 % of the others survive, or more."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, outcome in outcomes.items():
        table[mutant.module][judge(mutant, outcome, equivalent)] += 1
    total = sum(table.values(), Counter())
    print("\n| module | tried | killed | survived | equivalent |\n|:--|--:|--:|--:|--:|")
    for module, each in [*table.items(), ("**all**", total)]:
        tried = each.total() - each["untried"]
        print(f"| {module} | {tried} | {each['killed']} | {each['survived']} | {each['equivalent']} |")
    different = total["killed"] + total["survived"]
    print(f"\n{total['killed']} of {different} mutants that differ were killed; {total['untried']} not tried")
    for mutant, outcome in outcomes.items():
        if judge(mutant, outcome, equivalent) == "survived":
            print(f"survived: line {mutant.line}: {mutant.key}")
    return int(total["survived"] > 0.05 * different)


if __name__ == "__main__":
    sys.exit(main())
