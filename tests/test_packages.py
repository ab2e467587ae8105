"""Installed packages add data sets, formats and papers; a broken one is named and stops nothing."""

import json
import os
import subprocess
import sys

import pytest

CATALOG = """\
folder: files
datasets:
  my-points:
    title: Six points
    format: libsvm
    files: points.libsvm
    source: made for a test
    rows: 6
    features: 2
    labels: {-1: 3, 1: 3}
"""
POINTS = "+1 1:1\n-1 2:1\n+1 1:2\n-1 2:2\n+1 1:3\n-1 2:3\n"
NUMBERS = """\
id: mine2026
title: Six points
citation: Nobody, 2026
protocol: online
tables:
  - where: Table 1
    quantities: [mistake_rate]
    n: 3
    numbers:
      my-points: {perceptron: "0.500 ± 0.100"}
"""
AUDIT = """
from olbench.papers.audit import Instance, check


@check(paper="mine2026", where="Lemma 1", statement="one is not above one")
def lemma_1(rng, trials):
    yield Instance(0.0)
"""
CONFIG = "permutations: 3\npaper: mine2026\ndatasets: [my-points]\nalgorithms: [perceptron]\n"


@pytest.fixture
def installed(own_folder, monkeypatch):
    place = own_folder / "site"
    monkeypatch.setenv("PYTHONPATH", str(place), prepend=os.pathsep)

    def install(files, points):
        about = "Metadata-Version: 2.1\nName: my-things\nVersion: 1.0\n"
        texts = {f"my_package/{name}": text for name, text in {"__init__.py": "", **files}.items()}
        texts |= {"my_things-1.0.dist-info/METADATA": about}
        texts |= {"my_things-1.0.dist-info/entry_points.txt": points}
        for name, text in texts.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        return run

    def run(*words):
        command = [sys.executable, "-m", "olbench", *words]
        return subprocess.run(command, capture_output=True, text=True)

    return install


POINTS_OF_ENTRY = "[olbench.datasets]\nmine = my_package\n[olbench.papers]\nmine2026 = my_package\n"
WHOLE = {
    "catalog.yaml": CATALOG, "files/points.libsvm": POINTS, "numbers.yaml": NUMBERS, "audit.py": AUDIT,
    "illustrations.py": "",
}  # fmt: skip


def test_a_package_brings_a_data_set_with_its_files_and_a_paper(installed, tmp_path):
    olbench = installed(WHOLE, POINTS_OF_ENTRY)
    listed = olbench("data", "list")
    assert "my-points" in listed.stdout
    assert "in its package, " in listed.stdout
    assert listed.stderr == ""
    (tmp_path / "own.yaml").write_text(CONFIG)
    done = olbench("run", "own.yaml", "--out", "out", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(olbench("report", "out", "--format", "json").stdout)
    assert shown["paper"] == "mine2026"
    [row] = shown["rows"]
    assert row["reported"]["mistake_rate"]["mean"] == 0.5
    audit = olbench("audit", "mine2026")
    assert audit.returncode == 0, audit.stderr
    assert "mine2026: Six points" in audit.stdout
    assert "illustrations.py must define ILLUSTRATIONS, a dict" in olbench("figures", "mine2026").stderr


READER = """\
import pandas
from olbench.data.formats import reader

@reader("spaced", suffixes=[".spaced"], version=1)
def read_spaced(path, entry):
    return pandas.read_csv(path, sep=" ")
"""


def test_a_package_brings_a_format_of_files(installed, tmp_path):
    (tmp_path / "my.spaced").write_text("size sold\n" + "1 yes\n2 no\n" * 20)
    olbench = installed({"__init__.py": READER}, "[olbench.readers]\nmine = my_package\n")
    shown = olbench("data", "info", "my.spaced")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "read as 40 x 1, dense" in shown.stdout


BROKEN = [
    ({}, "cannot read "),
    ({"catalog.yaml": "datasets: {my-points: {title: Six}}\n"}, ""),
    (
        {**WHOLE, "catalog.yaml": CATALOG.replace("my-points", "splice")},
        "there is a data set 'splice' already",
    ),
    ({"__init__.py": "1 / 0\n"}, "ZeroDivisionError: "),
]


@pytest.mark.parametrize(
    ("files", "reason"), BROKEN, ids=["no file", "half an entry", "a known name", "a crash"]
)
def test_a_broken_catalogue_is_named_in_one_sentence_and_stops_nothing(installed, files, reason):
    done = installed(files, "[olbench.datasets]\nmine = my_package\n")("data", "info", "splice")
    message = f"the data sets of the package my-things (my_package) cannot be loaded: {reason}"
    assert done.returncode == 0
    assert done.stdout.startswith("splice: Splice junctions in DNA")
    assert done.stderr.startswith(f"olbench: {message}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("files", "id", "reason"),
    [
        ({"numbers.yaml": "id: other2026\n"}, "mine2026", "numbers.yaml"),
        (WHOLE, "yours", "numbers.yaml has the id mine2026, but the entry point is named yours"),
    ],
    ids=["no numbers", "another name"],
)
def test_a_broken_paper_is_named_in_one_sentence_and_stops_nothing(installed, files, id, reason):
    done = installed(files, f"[olbench.papers]\n{id} = my_package\n")("report", "scw", "--format", "csv")
    assert done.returncode == 0
    message = "olbench: the paper of the package my-things (my_package) cannot be loaded: "
    assert done.stderr.startswith(message)
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
