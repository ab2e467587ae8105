"""Prints the coverage of each package from the data that `make test` left, and fails below a floor.

The floors are a little below what was measured when they were set: a change that brings code without tests
fails.
"""

import sys
from collections import Counter
from pathlib import Path

from coverage import Coverage

#: The least share of lines that tests run, in percent: in every package, and in all of them together.
FLOOR, FLOOR_OF_ALL = 80.0, 90.0


def main() -> int:
    data = Coverage()
    data.load()
    root = Path("olbench").resolve()
    lines, missing = Counter[str](), Counter[str]()
    for file in data.get_data().measured_files():
        parts = Path(file).relative_to(root).parts
        package = parts[0] if len(parts) > 1 else "loose modules"
        _, statements, _, missed, _ = data.analysis2(file)
        lines[package] += len(statements)
        missing[package] += len(missed)
    lines["all"], missing["all"] = lines.total(), missing.total()
    below = []
    for package in sorted(lines, key=lambda name: (name == "all", name)):
        share = 100.0 * (1.0 - missing[package] / max(1, lines[package]))
        floor = FLOOR_OF_ALL if package == "all" else FLOOR
        print(f"{package:14} {lines[package]:7,} lines  {share:5.1f} %  (at least {floor:g} %)")
        if share < floor:
            below.append(package)
    if below:
        print(f"coverage is below its floor in {', '.join(below)}; add tests", file=sys.stderr)
    return bool(below)


if __name__ == "__main__":
    sys.exit(main())
