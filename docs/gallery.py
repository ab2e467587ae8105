"""Draws the pictures of docs/figures.md from the runs that ship: `make docs-figures`.

The page says which command each picture comes from. `pictures.json` keeps the digest of the run behind each
picture, so that a test can tell a picture that is older than its run.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
RUNS = DOCS.parent / "results"
DIGESTS = DOCS / "figures" / "pictures.json"
ENTRY = re.compile(
    r"^    olbench report (\S+) --figures figures +# ([\w.-]+).*\n\n!\[[^\]]*\]\(([^)]+)\)", re.MULTILINE
)


def read_gallery() -> list[tuple[str, str, str]]:
    """Return the run, the figure and the file of every picture that comes from a run."""
    return ENTRY.findall((DOCS / "figures.md").read_text(encoding="utf-8"))


def hash_run(name: str) -> str:
    """Return the digest of the trials of a run that ships."""
    return hashlib.sha256((RUNS / name / "reference" / "trials.columns.xz").read_bytes()).hexdigest()


def draw() -> None:
    """Draw every picture anew, and keep the digests of their runs."""
    gallery = read_gallery()
    digests = {}
    for run in dict.fromkeys(run for run, _, _ in gallery):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "olbench", "report", str(RUNS / run / "reference")]
            subprocess.run([*command, "--figures", folder], check=True, stdout=subprocess.DEVNULL)
            for _, figure, file in (entry for entry in gallery if entry[0] == run):
                shutil.copyfile(Path(folder) / f"{figure}.png", DOCS / file)
                digests[file] = hash_run(run)
    DIGESTS.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    draw()
