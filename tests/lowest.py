"""Prints the lowest version of every dependency that pyproject.toml allows, as pip's constraints.

python tests/lowest.py [EXTRA ...] > constraints.txt
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def lowest(extras=()):
    """Return `name==version` for the dependencies, including those of some extras."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return [re.sub(r">=", "==", each) for each in wanted]


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
