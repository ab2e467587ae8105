"""Every verb finds configs, runs and algorithms by the same names."""

import os
import sys
from pathlib import Path

import pytest
import yaml

from olbench import load_results, plot
from olbench.algorithms import get_definition
from olbench.algorithms.definition import RECORDED, REGISTRY
from olbench.data.catalog import DATASETS
from olbench.protocols import get_protocol, protocols
from olbench.protocols.reading import read_config
from olbench.records.shipped import configs, find_run
from tests.cases import for_each

pytestmark = pytest.mark.usefixtures("own_folder")

LINES = "".join(f"{1 if i % 2 else -1} 1:{i % 7} 2:{(i * i) % 5}\n" for i in range(40))


@for_each(
    ("words", "hint"),
    [
        (["algoritms"], "olbench: there is no command 'algoritms' (did you mean 'algorithms'?)"),
        (["algorithms", "scw3"], "olbench: unknown algorithm 'scw3' (did you mean 'scw"),
        (["trace", "synthetic", "--algorithm", "SCW-III"], "'SCW-III' (did you mean 'SCW-II'?)"),
        (["algorithms", "--plugin", "none.py"], "olbench: there is no plugin file none.py"),
        (["run", "quik"], "'quik' (did you mean 'quick'?)"),
        (["run", "breast-cancr"], "'breast-cancr' (did you mean 'breast-cancer'?)"),
        (["report", "scx"], "'scx' here, in results or among the shipped runs (did you mean 'scw'?)"),
        (["run", "quick", "--reuse", "qick"], "there is no run 'qick'"),
        (["check", "cii"], "there is no config 'cii' (did you mean 'ci'?)"),
        (["forensics", "forensic"], "(did you mean 'forensics'?)"),
        (["data", "fetch", "--config", "qick"], "(did you mean 'quick'?)"),
    ],
)
def test_a_misspelt_name_gets_one_sentence_with_a_suggestion(words, hint, here):
    code, out, err = here(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert hint in err


def test_a_run_of_ones_own_has_a_name_too(here):
    assert here("run", "quick", "--quiet", "--set", "permutations=2", "--set", "datasets=[synthetic]")[0] == 0
    assert find_run("quick") == Path("results/quick")
    for words in (["run", "quick", "--dry-run", "--reuse", "quick"], ["report", "quick"]):
        assert here.out(*words)


def test_titles_name_algorithms_as_ids_do(here, tmp_path):
    out = here.out("trace", "breast-cancer", "--algorithm", "SCW-I", "--rounds", "1")
    assert out.startswith("SCW-I (C=1, eta=0.75) on breast-cancer")
    assert here("algorithms", "SCW-I")[1] == here("algorithms", "scw1")[1]
    (tmp_path / "titled.yaml").write_text(
        "datasets: [synthetic]\nalgorithms: [AROW, {id: SCW-I, params: {C: 2}}]"
    )
    assert [spec.id for spec in read_config(tmp_path / "titled.yaml").algorithms] == ["arow", "scw1"]


def test_a_plugin_may_add_the_data_set_that_a_run_names(here):
    Path("six.libsvm").write_text("+1 1:1\n-1 2:1\n+1 1:2\n-1 2:3\n+1 1:3\n-1 2:2\n")
    facts = {"title": "Six points", "format": "libsvm", "files": "six.libsvm", "source": "made by hand"}
    facts |= {"rows": 6, "features": 2, "labels": {-1: 3, 1: 3}}
    Path("catalog.yaml").write_text(yaml.safe_dump({"folder": ".", "datasets": {"six.points": facts}}))
    Path("mine.py").write_text(
        "from pathlib import Path\n"
        "from olbench.data.catalog import add_datasets\n"
        "add_datasets(Path(__file__).with_name('catalog.yaml'), __name__)\n"
    )
    words = ["six.points", "--plugin", "mine.py", "--algorithms", "perceptron", "--quiet"]
    try:
        assert here("run", *words) == (0, "", "")
    finally:
        DATASETS.pop("six.points", None)


def test_the_title_of_an_own_algorithm_is_on_record_and_in_figures(here, tmp_path):
    """A report does not run the files of a run, so that it can only know the title from the record."""
    (tmp_path / "own.py").write_text(
        "from olbench import second_order\n"
        "@second_order('titled', title='Titled & own')\n"
        "def rule(m, v, mistake, t, p):\n"
        "    return (1.0, 1.0 / (v + 1.0), 1.0) if m < 1.0 else (0.0, 0.0, 0.0)\n"
    )
    words = ["--algorithms", "titled,AROW", "--plugin", "own.py", "--set", "permutations=2", "--quiet"]
    assert here("run", "breast-cancer", *words)[0] == 0
    REGISTRY.pop("titled")
    RECORDED.clear()
    results = load_results("results/breast-cancer")
    assert results.run.titles == {"titled": "Titled & own"}
    panel = plot.curves(results, "breast-cancer").axes[0]
    assert [line.get_label() for line in panel.get_lines()] == ["Titled & own", "AROW"]
    out = here.out("report", "breast-cancer", "--algorithms", "titled & own", "--format", "csv")
    assert [line.split(",")[1] for line in out.splitlines()[1:]] == ["titled"]


@for_each("protocol", [each.id for each in protocols()])
def test_all_algorithms_are_those_that_the_protocol_can_run(protocol, tmp_path):
    config = next(path for path in configs().values() if (read_config(path)).protocol == protocol)
    content = yaml.safe_load(config.read_text())
    content.pop("tuning", None)
    content.pop("plugins", None)
    (tmp_path / "all.yaml").write_text(yaml.safe_dump({**content, "algorithms": "all"}))
    ids = {spec.id for spec in read_config(tmp_path / "all.yaml").algorithms}
    known = get_protocol(protocol)
    assert ids
    for each in ids:
        known.refuse(get_definition(each))
    if protocol == "online":
        assert {"perceptron", "pa1", "arow", "scw1", "sop"} <= ids


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has file names that are not Unicode")
def test_names_that_are_not_unicode_are_refused_for_data_and_shown_for_runs(olbench, monkeypatch):
    Path(os.fsdecode(b"bad\xff.libsvm")).write_text(LINES)
    done = olbench("run", os.fsdecode(b"bad\xff.libsvm"), "--algorithms", "perceptron")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert r"'bad\udcff.libsvm' is not valid Unicode; rename the file" in done.stderr
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")
    out = os.fsdecode(b"out\xff")
    Path("small.libsvm").write_text(LINES)
    assert olbench("run", "small.libsvm", "--algorithms", "perceptron", "--out", out).returncode == 0
    for form in ("html", "md"):
        done = olbench("report", out, "--format", form, "--output", f"report.{form}")
        assert done.returncode == 0, done.stderr
    assert "out?" in Path("report.html").read_text(encoding="utf-8")
