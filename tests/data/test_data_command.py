"""olbench data, as typed: what is printed, and the exit code."""

import subprocess
import sys

import pytest

SVMGUIDE = "+1 1:1\n-1 1:2\n"


def olbench(*arguments):
    command = [sys.executable, "-c", "from olbench.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_list_tells_what_is_here():
    outcome = olbench("data", "list")
    lines = {line.split()[0]: line for line in outcome.stdout.splitlines() if line}
    assert outcome.returncode == 0
    assert "581,012" in lines["covtype"]
    assert " no " in lines["covtype"]
    assert "built in" in lines["breast-cancer"]


def test_info_tells_all_about_one():
    outcome = olbench("data", "info", "usps")
    assert outcome.returncode == 0
    assert "rows        7,291" in outcome.stdout
    assert "labels      -1: 6,097, +1: 1,194" in outcome.stdout
    assert "the digit zero" in outcome.stdout
    assert "get it with `olbench data fetch usps`" in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["info", "uspz"],
            "olbench: there is no data set 'uspz' (did you mean 'usps'?)",
        ),
        (["fetch"], "olbench: name the data sets to fetch, or say --all or --config"),
        (["fetch", "w7b"], "olbench: there is no data set 'w7b' (did you mean 'w7a'?)"),
        (
            ["fetch", "w7a", "--mirror", "ftp://x"],
            "olbench: the mirror 'ftp://x' is neither a folder",
        ),
        (["fetch", "--config", "none.yaml"], "olbench: cannot read none.yaml: No such file or directory"),
        (["verify", "w7a"], "olbench: w7a: not here; get it with `olbench data fetch w7a`"),
        (["lst"], "olbench: there is no command 'data lst' (did you mean 'list'?)"),
        (["generate", "dense", "x", "--words", "3"], "olbench: --words and --exponent belong to `text`"),
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


def test_verify_without_names_checks_what_is_here(cache_folder):
    (cache_folder / "downloads").mkdir(parents=True)
    (cache_folder / "downloads" / "svmguide3").write_text(SVMGUIDE)
    outcome = olbench("data", "verify")
    assert outcome.returncode == 1
    assert "svmguide3            DIFFERS: 2 rows instead of 1,243" in outcome.stdout
    assert "breast-cancer        as in the catalogue" in outcome.stdout
    assert "5 checked, 1 differ" in outcome.stdout


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
    heavy = "('numba', 'scipy', 'pandas', 'matplotlib', 'sklearn', 'pooch', 'requests', 'yaml')"
    check = f"{code}; import sys; print([name for name in {heavy} if name in sys.modules])"
    outcome = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert outcome.stdout == "[]\n"
