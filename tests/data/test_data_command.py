"""olbench data, as typed: what is printed, and the exit code."""

import subprocess
import sys

import pytest

SVMGUIDE = "+1 1:1\n-1 1:2\n"


def olbench(*arguments):
    command = [sys.executable, "-c", "from olbench.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_list_tells_what_is_downloaded():
    outcome = olbench("data", "list")
    lines = {line.split()[0]: line for line in outcome.stdout.splitlines() if line}
    assert outcome.returncode == 0
    assert "581,012" in lines["covtype"]
    assert " no " in lines["covtype"]
    assert "built in" in lines["breast-cancer"]


def test_info_tells_all_about_one():
    outcome = olbench("data", "info", "usps")
    assert outcome.returncode == 0
    assert "rows         7,291" in outcome.stdout
    assert "labels       -1: 6,097, +1: 1,194" in outcome.stdout
    assert "the digit zero" in outcome.stdout
    assert "get it with `olbench data fetch usps`" in outcome.stdout


def test_info_tells_how_text_becomes_features():
    outcome = olbench("data", "info", "news-comp")
    assert (
        "documents    posts in */comp.sys.ibm.pc.hardware/* (+1), */comp.sys.mac.hardware/* (-1); "
        "headers From, Subject; lower case; words; binary\n" in outcome.stdout
    )
    assert "one choice among several" in outcome.stdout
    outcome = olbench("data", "info", "amazon-books")
    assert (
        "documents    reviews in */books.task.train, */books.task.test; words and pairs of words; counts\n"
        in (outcome.stdout)
    )


def test_info_tells_of_splits_and_samples():
    outcome = olbench("data", "info", "cw2008-synthetic")
    assert "split        given, the last 10,000 rows are for testing\n" in outcome.stdout
    assert "sample       drawn anew for every run; these are the facts of run 0\n" in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["info", "uspz"],
            "olbench: there is no data set 'uspz' (did you mean 'usps'?)",
        ),
        (["fetch"], "olbench: name the data sets to fetch, or use --all or --config"),
        (["fetch", "w7b"], "olbench: there is no data set 'w7b' (did you mean 'w7a'?)"),
        (
            ["fetch", "w7a", "--mirror", "ftp://x"],
            "olbench: the mirror 'ftp://x' is neither a folder",
        ),
        (["fetch", "--config", "none.yaml"], "olbench: cannot read none.yaml: No such file or directory"),
        (["verify", "w7a"], "olbench: w7a: not downloaded; get it with `olbench data fetch w7a`"),
        (["lst"], "olbench: there is no command 'data lst' (did you mean 'list'?)"),
        (["generate", "dense", "x", "--words", "3"], "olbench: --words and --exponent apply only to `text`"),
    ],
)
def test_wrong_input_gives_one_sentence_and_exit_code_2(arguments, message):
    outcome = olbench("data", *arguments)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith(message)
    assert "Traceback" not in outcome.stderr


def test_fetching_from_a_mirror_that_lies_says_so(tmp_path, monkeypatch):
    (tmp_path / "mitface").write_text(SVMGUIDE)
    outcome = olbench("data", "fetch", "mitface", "--mirror", tmp_path)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith(f"olbench: cannot fetch mitface ({tmp_path}: ")
    assert "get mitface by hand from http://cbcl.mit.edu/software-datasets/FaceData2.html" in outcome.stderr


def test_verify_without_names_checks_what_is_downloaded(cache_folder):
    (cache_folder / "downloads").mkdir(parents=True)
    (cache_folder / "downloads" / "svmguide3").write_text(SVMGUIDE)
    outcome = olbench("data", "verify")
    assert outcome.returncode == 1
    assert "svmguide3                DIFFERS: 2 rows instead of 1,243" in outcome.stdout
    assert "breast-cancer            agrees with the catalogue" in outcome.stdout
    assert "8 checked, 1 differ" in outcome.stdout


def test_a_config_names_what_to_fetch(tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("datasets:\n  - synthetic\n  - name: breast-cancer\n")
    outcome = olbench("data", "fetch", "--config", config)
    assert outcome.returncode == 0
    assert outcome.stdout == (
        "synthetic: built in, nothing to fetch\nbreast-cancer: built in, nothing to fetch\n"
    )
    config.write_text("nothing: here\n")
    outcome = olbench("data", "fetch", "--config", config)
    assert (outcome.returncode, outcome.stderr) == (
        2,
        f"olbench: {config} names no data sets under 'datasets'\n",
    )


@pytest.mark.parametrize(
    "entry",
    [
        "{name: mine, path: data/mine.txt}",
        "{path: data/mine.txt}",
        "{path: data/mine.txt, positive: 1}",
        "{name: data/mine.txt, positive: 1}",
        "data/mine.txt",
    ],
)
def test_files_named_by_a_config_need_no_fetching(tmp_path, monkeypatch, entry):
    (tmp_path / "below" / "data").mkdir(parents=True)
    (tmp_path / "below" / "data" / "mine.txt").write_text(SVMGUIDE)
    (tmp_path / "below" / "config.yaml").write_text(f"datasets: [synthetic, {entry}]\nalgorithms: [pa]\n")
    monkeypatch.chdir(tmp_path)
    outcome = olbench("data", "fetch", "--config", "below/config.yaml")
    assert outcome.stderr == ""
    assert (outcome.returncode, outcome.stdout) == (0, "synthetic: built in, nothing to fetch\n")


def test_a_config_of_files_alone_leaves_nothing_to_fetch(tmp_path):
    (tmp_path / "mine.txt").write_text(SVMGUIDE)
    (tmp_path / "config.yaml").write_text("datasets: [{name: mine, path: mine.txt}]\n")
    outcome = olbench("data", "fetch", "--config", tmp_path / "config.yaml")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == f"{tmp_path}/config.yaml: only local files, nothing to fetch\n"


def test_a_name_of_the_catalogue_is_fetched_even_beside_a_file_of_that_name(tmp_path, monkeypatch):
    (tmp_path / "synthetic").write_text(SVMGUIDE)
    (tmp_path / "config.yaml").write_text("datasets: [synthetic]\n")
    monkeypatch.chdir(tmp_path)
    outcome = olbench("data", "fetch", "--config", "config.yaml")
    assert outcome.stdout == "synthetic: built in, nothing to fetch\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("datasets: [spliced]\n", ":1: there is no data set 'spliced' (did you mean 'splice'?); "),
        ("seed: 1\ndatasets:\n  - splice\n  - 7\n", ":4: a data set must be text, not 7\n"),
        ("datasets: {a: b\n", ":2: not YAML ("),
        ("datasets: []\n", ":1: datasets must not be empty\n"),
        ("datasets: [{positive: 1}]\n", ":1: a data set needs the key 'name' or 'path'\n"),
        ("algorithms: [pa]\n", " names no data sets under 'datasets'\n"),
    ],
)
def test_a_config_that_names_no_data_sets_is_refused_with_its_line(tmp_path, text, message):
    config = tmp_path / "config.yaml"
    config.write_text(text)
    outcome = olbench("data", "fetch", "--config", config)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith(f"olbench: {config}{message}")


def test_generate_and_clean(tmp_path, cache_folder):
    path = tmp_path / "made.txt"
    outcome = olbench("data", "generate", "text", path, "--rows", 100, "--features", 50)
    assert outcome.returncode == 0
    assert outcome.stdout.startswith(f"{path}: 100 rows, 50 features, ")
    (cache_folder / "parsed").mkdir(parents=True)
    (cache_folder / "parsed" / "x").write_text("12345")
    assert olbench("data", "clean").stdout == f"5 B removed from {cache_folder}\n"
    assert not (cache_folder / "parsed").exists()


@pytest.mark.parametrize(
    "code", ["import olbench", "import olbench.cli.data", "from olbench.data import fetch"]
)
def test_importing_is_light(code):
    heavy = "('numba', 'scipy', 'pandas', 'matplotlib', 'sklearn', 'requests', 'yaml')"
    check = f"{code}; import sys; print([name for name in {heavy} if name in sys.modules])"
    outcome = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert outcome.stdout == "[]\n"
