"""Prints the coverage of each package from the data that `make test` left, and fails below a floor.

The floors are a little below what was measured when they were set: a change that brings code without tests
fails.
"""

import sys
from collections import Counter
from pathlib import Path

from coverage import Coverage

#: The least share of lines that tests run, in percent. Benchmarks, verbs and workers of a cluster run partly
#: in processes of their own, which are not measured.
FLOOR = 92.0
FLOORS = {"cli": 76.0, "engine": 83.0, "all": 93.0}


def main() -> int:
    data = Coverage()
    data.load()
    root = Path("olbench").resolve()
    lines, missing = Counter[str](), Counter[str]()
    # Templates of the page are measured as well, and are no Python.
    for file in (name for name in data.get_data().measured_files() if name.endswith(".py")):
        parts = Path(file).relative_to(root).parts
        package = parts[0] if len(parts) > 1 else "loose modules"
        _, statements, _, missed, _ = data.analysis2(file)
        lines[package] += len(statements)
        missing[package] += len(missed)
    lines["all"], missing["all"] = lines.total(), missing.total()
    below = []
    for package in sorted(lines, key=lambda name: (name == "all", name)):
        share = 100.0 * (1.0 - missing[package] / max(1, lines[package]))
        floor = FLOORS.get(package, FLOOR)
        print(f"{package:14} {lines[package]:7,} lines  {share:5.1f} %  (at least {floor:g} %)")
        if share < floor:
            below.append(package)
    if below:
        print(f"coverage is below its floor in {', '.join(below)}; add tests", file=sys.stderr)
    return bool(below)


if __name__ == "__main__":
    sys.exit(main())
