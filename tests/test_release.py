"""Releases install and work: wheels, source distribution, container, action for CI."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
import yaml

from olbench import __version__
from olbench.records import shipped
from tests import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RESULTS = tomllib.loads((ROOT / "results/pyproject.toml").read_text())
PYTHONS = ["3.11", "3.12", "3.13"]
#: A short run, most of whose time goes into compiling.
QUICK = ["run", "quick", "--set", "permutations=1", "--set", "algorithms=[perceptron]", "--quiet"]


def build(project: Path, folder: Path, kind: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    [file] = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return file


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling builds wheels and source distributions")
    return cache(lambda project, kind: build(project, tmp_path_factory.mktemp(kind), kind))


@pytest.fixture(scope="module")
def wheel(built):
    return built(ROOT, "wheel")


@pytest.fixture(scope="module")
def results(built):
    return built(ROOT / "results", "wheel")


def names_in(file: Path) -> set[str]:
    with zipfile.ZipFile(file) as archive:
        return set(archive.namelist())


def runs_in(file: Path, package: str) -> set[str]:
    found = (re.fullmatch(rf"{package}/(.+)/run\.json", name) for name in names_in(file))
    return {match[1] for match in found if match}


def test_the_version_is_the_same_everywhere(wheel):
    assert wheel.name == f"olbench-{__version__}-py3-none-any.whl"
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    assert (named, PROJECT["project"]["requires-python"]) == (PYTHONS, f">={PYTHONS[0]}")
    release = __version__.removesuffix(".dev0")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == release
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert next(each for each in headings if each != "Unreleased") == release
    [needed] = PROJECT["project"]["optional-dependencies"]["results"]
    assert needed == f"{RESULTS['project']['name']}>={RESULTS['project']['version'].rsplit('.', 1)[0]}"


def test_every_config_and_every_run_that_ships_is_in_one_of_two_wheels(wheel, results):
    configs = {Path(name).stem for name in names_in(wheel) if re.match(r"olbench/configs/.*\.yaml", name)}
    assert configs == {path.stem for path in (ROOT / "configs").glob("*.yaml")}
    tracked = subprocess.run(
        ["git", "ls-files", "results/*/*/run.json"], cwd=ROOT, capture_output=True, text=True
    )
    if tracked.returncode:
        pytest.skip("only git knows which runs ship")
    main, more = runs_in(wheel, "olbench/results"), runs_in(results, "olbench_results")
    assert main.isdisjoint(more)
    assert main | more == {
        line.removeprefix("results/").removesuffix("/run.json") for line in tracked.stdout.split()
    }
    assert {name.split("/")[0] for name in more if name.endswith("/reference")} == set(shipped.MORE_RUNS)
    # A summary from the plain wheel is that of a checkout.
    papers = {name for name, path in shipped.configs().items() if "\npaper: " in path.read_text()}
    assert papers.isdisjoint(shipped.MORE_RUNS)


def test_both_wheels_are_small_and_have_the_licence(wheel, results):
    assert (ROOT / "results/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    for file in (wheel, results):
        assert file.stat().st_size < 4_000_000
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names_in(file))


def test_the_sdist_builds_the_same_wheel_and_has_the_tests(built, wheel, tmp_path):
    with tarfile.open(built(ROOT, "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = (path for path in tmp_path.iterdir() if path.is_dir())
    assert build(source, tmp_path / "again", "wheel").read_bytes() == wheel.read_bytes()
    for name in ("tests/test_release.py", "tests/conftest.py", "Makefile", "CHANGELOG.md", "docs/index.md"):
        assert (source / name).is_file(), name


def make_environment(folder: Path) -> Path:
    """Return the Python of an environment with only the dependencies."""
    words = [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(folder)]
    subprocess.run(words, check=True, capture_output=True)
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin/python"


def test_it_installs_into_an_empty_environment_runs_and_reports_what_ships(wheel, tmp_path):
    python = make_environment(tmp_path / "env")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index"]
    options = ["--no-deps", "--ignore-installed", "--no-build-isolation"]
    done = subprocess.run([*pip, *options, str(wheel)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["OLBENCH_CACHE"] = str(tmp_path / "cache")

    def olbench(*words):
        command = [python.with_name("olbench"), *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    assert olbench("--version") == (0, f"olbench, version {__version__}\n", "")
    code, out, err = olbench("report", "scw", "--format", "csv")
    assert (code, err, "scw1" in out) == (0, "", True)
    refused = "the run 'streams' is in a separate package; `pip install 'olbench[results]'` gets it"
    assert olbench("report", "streams") == (2, "", f"olbench: {refused}\n")
    code, _, err = olbench(*QUICK)
    assert code == 0, err
    run = json.loads((tmp_path / "results/quick/run.json").read_text())
    assert run["versions"]["olbench"] == __version__


def test_the_image_runs_as_a_user_and_its_context_has_what_the_wheel_needs():
    """Nothing builds the image here: RELEASING.md has that step."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    last = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith(("#", " ")))
    assert last["USER"] not in ("root", "0")
    assert json.loads(last["ENTRYPOINT"]) == list(PROJECT["project"]["scripts"])
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    files = [*wheel["packages"], *wheel["force-include"], "LICENSE", "README.md", "pyproject.toml"]
    assert {name.split("/")[0] for name in files} == kept


ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


def act(folder: Path, **given: str) -> subprocess.CompletedProcess:
    """Run the steps of the action as a runner would, and return the last one; `uses` steps are left out."""
    inputs = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()} | given
    assert inputs.keys() == ACTION["inputs"].keys()

    def fill(text: str) -> str:
        return re.sub(r"\${{ inputs\.([\w-]+) }}", lambda match: inputs[match[1]], text)

    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in ACTION["runs"]["steps"]:
        wanted = re.fullmatch(
            r"\${{ inputs\.([\w-]+) != '' }}", step.get("if", "${{ inputs.config != '' }}")
        )[1]
        if not inputs[wanted] or "run" not in step:
            continue
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # a runner would put the text of an input into the script
        environment = {**os.environ, "PATH": path} | {key: fill(text) for key, text in step["env"].items()}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", step["run"]], cwd=folder, env=environment,
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            break
    return done


def test_the_action_passes_while_no_count_changed_and_marks_one_that_did(tmp_path, here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ci.yaml").write_text(
        "seed: 7\npermutations: 1\ndatasets: [breast-cancer]\nalgorithms: [perceptron]\n"
    )
    here.out("check", "ci.yaml", "--against", "baseline.json", "--update")
    given = {"config": "ci.yaml", "baseline": "baseline.json", "olbench": ""}
    done = act(tmp_path, **given, format="json", options="--tolerance 0.01 --set permutations=1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    text = Path("baseline.json").read_text()
    [count] = re.findall(r'"mistakes": \[?\s*(\d+)', text)[:1]
    changed = re.sub(rf"\b{count}\b", str(int(count) - 1), text)
    assert json.loads(changed) != json.loads(text)
    Path("baseline.json").write_text(changed)
    done = act(tmp_path, **given, output="found.txt")
    assert done.returncode == 1
    assert "::error" in done.stdout
    assert Path("found.txt").read_text() == done.stdout


def test_the_action_runs_no_input_in_the_shell_and_installs_the_package_it_is_given(tmp_path):
    evil = "$(touch harmed)`touch harmed`; touch harmed"
    assert act(tmp_path, config=evil, baseline=evil, options=evil, olbench="").returncode == 2
    assert not (tmp_path / "harmed").exists()
    done = act(tmp_path, config="ci.yaml", olbench="./there-is-no-such-package")
    assert done.returncode == 1
    assert "there-is-no-such-package" in done.stderr  # pip was asked for it


def test_the_workflow_to_copy_is_that_of_the_page():
    template = (ROOT / "docs/examples/olbench-check.yml").read_text()
    tutorial = (ROOT / "docs/ci.md").read_text()
    assert template.split("\n", 1)[1] in tutorial
    steps = yaml.safe_load(template)["jobs"]["counts"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [
        "pip install olbench", "olbench check ci.yaml --against baseline.json --format github",
    ]  # fmt: skip
