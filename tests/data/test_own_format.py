"""A plugin adds a format of files; a paper that is removed takes only its own data sets with it."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import scipy.sparse as sp

from olbench import load_dataset, load_plugin
from olbench.data.formats import FORMATS
from tests import ROOT
from tests.refusals import refusal

#: One example per line: words, and after a bar the label.
READER = """\
import pandas
from scipy.sparse import csr_matrix
from olbench.data.formats import reader

@reader("words", suffixes=[".words"])
def read_words(path, entry):
    rows = [line.split(" | ") for line in path.read_text().splitlines()]
    counts = [{word: words.split().count(word) for word in words.split()} for words, _ in rows]
    frame = pandas.DataFrame(counts).fillna(0.0)
    labels = [label for _, label in rows]
    return """
FRAME, PAIR = "frame.assign(label=labels)\n", "frame.to_numpy(), labels\n"
WORDS = "good good film | yes\nbad film | no\n" * 30
CONFIG = """\
plugins: [words.py]
permutations: 2
datasets: [{path: film.words, bias: true}]
algorithms: [perceptron]
"""


@pytest.fixture
def words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "film.words").write_text(WORDS)

    def write(returned):
        (tmp_path / "words.py").write_text(READER + returned)
        return tmp_path / "words.py"

    yield write
    for home in {home for home in FORMATS.homes.values() if not home.startswith("olbench.")}:
        FORMATS.drop(home)


def olbench(*words, cwd, package=ROOT):
    environment = {**os.environ, "PYTHONPATH": str(package), "OLBENCH_CACHE": str(cwd / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "olbench", *words], capture_output=True, text=True, env=environment, cwd=cwd
    )


def test_a_config_runs_on_a_file_in_the_format_of_its_plugin(words, tmp_path):
    words(FRAME)
    (tmp_path / "own.yaml").write_text(CONFIG)
    done = olbench("run", "own.yaml", "--out", "out", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    [row] = json.loads(olbench("report", "out", "--format", "json", cwd=tmp_path).stdout)["rows"]
    assert (row["dataset"], row["permutations"]) == ("film", 2)


@pytest.mark.parametrize("returned", [FRAME, PAIR, "csr_matrix(frame), labels\n"])
def test_a_reader_returns_a_frame_or_a_pair(words, returned):
    load_plugin(words(returned))
    data = load_dataset("film.words", bias=True)
    assert data.name == "film"
    assert sp.csr_matrix(data.X).toarray()[:2].tolist() == [[2, 1, 0, 1], [0, 1, 1, 1]]
    assert data.y[:2].tolist() == [1.0, -1.0]


@pytest.mark.parametrize("version", ["", ", version=1"])
def test_blocks_of_rows_are_scaled_as_asked(words, version):
    path = words("")
    blocks = "for begin in (0, 2):\n        yield csr_matrix([[3.0, 4.0], [0.0, 2.0]]), [1.0, -1.0]\n"
    text = READER.replace('".words"]', f'".words"]{version}').replace("return ", blocks)
    path.write_text(text)
    load_plugin(path)
    data = load_dataset("film.words", scale="unit", bias=True)
    assert sp.csr_matrix(data.X).toarray().tolist() == [[0.6, 0.8, 1], [0, 1, 1]] * 2
    assert data.about.steps == ("every row scaled to length 1", "a feature that is always 1 added")
    refused = refusal(load_dataset, "film.words", labels="all")
    assert refused == "film has two classes by construction; leave out labels='all'"


def test_another_plugin_and_a_built_in_suffix_are_refused(words, tmp_path):
    load_plugin(words(FRAME))
    other = (READER + FRAME).replace('"words"', '"mine"').replace(".words", ".csv")
    for text, message in (
        (READER + FRAME, "a format named 'words' already exists"),
        (other, "'mine': files that end in .csv have the format 'csv'"),
    ):
        (tmp_path / "more.py").write_text(text)
        assert message in refusal(load_plugin, tmp_path / "more.py")


def test_without_cw2012_its_corpora_go_and_everything_else_works(tmp_path):
    for name in ("olbench", "datasets", "configs"):
        skip = shutil.ignore_patterns("cw2012", "__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skip)
    listed = olbench("data", "list", cwd=tmp_path, package=tmp_path)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "corpus-" not in listed.stdout
    few = ("--set", "algorithms=[perceptron]", "--set", "permutations=1")  # less to compile anew
    done = olbench("run", "quick", "--out", "out", "--quiet", *few, cwd=tmp_path, package=tmp_path)
    assert done.returncode == 0, done.stderr
