"""Unusual numbers, names and settings: each is worked with, or refused in one sentence."""

import csv
import io
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from olbench.estimators import AROW, CW, SOP
from olbench.report.figures.style import file_name, file_names
from olbench.report.formats import write_csv
from tests.cases import for_each

LINES = "".join(f"{1 if i % 2 else -1} 1:{i % 7} 2:{(i * i) % 5}\n" for i in range(40))


def run(*words, cwd, **environment):
    """Run the command in a process of its own: (exit code, standard error)."""
    done = subprocess.run(
        [sys.executable, "-m", "olbench", *words], cwd=cwd, capture_output=True,
        env={**os.environ, "PYTHONPATH": os.getcwd(), **environment},
    )  # fmt: skip
    return done.returncode, done.stderr.decode(errors="replace")


@for_each("model", [AROW(), AROW(covariance="diag"), CW(covariance="diag")])
@for_each("exponent", [300, 508, 511, 520])
@for_each("form", [np.asarray, sp.csr_array])
def test_probabilities_are_numbers_at_any_feature_scale(rng, model, exponent, form):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    model.fit(form(X), y)
    # The Gaussian over weights is about directions: the length of a row does not matter.
    usual, large = (model.predict_proba(form(np.ldexp(X, shift))) for shift in (0, exponent))
    np.testing.assert_allclose(usual, large, rtol=1e-9)
    np.testing.assert_allclose(usual.sum(axis=1), 1.0)


@pytest.mark.parametrize("scale", [1e100, 1e153, 1e154, 1e155])
def test_a_learner_of_huge_features_has_probabilities_and_predictions(rng, scale):
    X, y = rng.normal(size=(100, 3)) * scale, rng.integers(0, 3, 100)
    model = AROW(covariance="diag").fit(X, y)
    chances = model.predict_proba(X)
    assert np.isfinite(chances).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@for_each("text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "-arow"])
def test_a_name_in_a_csv_file_is_no_formula(text):
    table = write_csv([{"label": text, "mean": -0.25, "plain": "-0.25", "none": None}])
    [row] = csv.DictReader(io.StringIO(table))
    assert row == {"label": f"'{text}", "mean": "-0.25", "plain": "-0.25", "none": ""}


@pytest.mark.parametrize("name", ["n" * 300, "漢" * 200, "a/b" * 100])
def test_a_long_name_of_a_data_set_gives_a_file_name_that_fits(name):
    assert len(f"curves-{file_name(name)}-2.pdf".encode()) < 255
    assert len(set(file_names([name, f"{name}x", f"{name}y"]).values())) == 3


def test_a_data_set_with_a_long_name_is_reported(tmp_path, here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.libsvm").write_text(LINES)
    (tmp_path / "c.yaml").write_text(
        f"datasets: [{{name: {'n' * 300}, path: small.libsvm}}]\npermutations: 2\nalgorithms: [perceptron]\n"
    )
    assert here("run", "c.yaml", "--out", "out")[0] == 0
    assert here("report", "out", "--figures", "figures")[0] == 0
    assert any((tmp_path / "figures").iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has file names that are not Unicode")
def test_a_file_name_that_is_not_unicode_is_refused_in_one_sentence(tmp_path):
    (tmp_path / os.fsdecode(b"bad\xff.libsvm")).write_text(LINES)
    code, error = run("run", b"bad\xff.libsvm", "--algorithms", "perceptron", cwd=tmp_path)
    assert (code, error.count("\n")) == (2, 1)
    assert r"'bad\udcff.libsvm' is not valid Unicode; rename the file" in error


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has file names that are not Unicode")
def test_a_results_folder_with_a_name_that_is_not_unicode_is_reported(tmp_path):
    (tmp_path / "small.libsvm").write_text(LINES)
    strict = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-8:strict"}
    words = ("run", "small.libsvm", "--algorithms", "perceptron", "--out", b"out\xff")
    assert run(*words, cwd=tmp_path, **strict)[0] == 0
    for form in ("html", "md"):
        words = ("report", b"out\xff", "--format", form, "--output", f"report.{form}")
        assert run(*words, cwd=tmp_path, **strict)[0] == 0
    assert "out?" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [("small.libsvm", "--algorithms", "arow"), ("quick",)])
def test_numba_without_its_compiler_is_refused_in_one_sentence(tmp_path, words):
    (tmp_path / "small.libsvm").write_text(LINES)
    code, error = run("run", *words, cwd=tmp_path, NUMBA_DISABLE_JIT="1")
    assert code == 2
    assert error.startswith("olbench: NUMBA_DISABLE_JIT is set")
    assert error.count("\n") == 1


HOMELESS = """
import os
from numba import int64
from olbench.kernels.compile import kernel, rule

def double(x):
    return 2 * x

assert kernel(int64(int64))(double)(4) == 8
assert rule(int64(int64), double).ctypes(4) == 8
assert any(files for _, _, files in os.walk(os.environ["NUMBA_CACHE_DIR"]))
print(os.environ["NUMBA_CACHE_DIR"])
"""


def test_code_compiles_where_the_cache_cannot_be_written(tmp_path):
    (tmp_path / "homeless.py").write_text(HOMELESS)
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "OLBENCH_CACHE": "/dev/null/nowhere"}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "homeless.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not os.path.exists(done.stdout.strip())


def test_a_clock_that_goes_back_changes_nothing_but_the_dates(tmp_path, here, monkeypatch):
    from olbench.records import run_file

    dates = iter(f"2001-01-01T00:00:{second:02}+00:00" for second in range(59, 0, -1))
    monkeypatch.setattr(run_file, "now", lambda: next(dates))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.libsvm").write_text(LINES)
    words = ("run", "small.libsvm", "--algorithms", "perceptron", "--out", "out")
    assert here(*words)[0] == 0
    assert "nothing to do: all 20 trials are in out" in "".join(here(*words)[1:])
    run_file = run_file.read(tmp_path / "out")
    assert run_file.end < run_file.start
    assert here("report", "out")[0] == 0


@pytest.mark.parametrize("scale", [1.0, 1e100, 1e153, 1e154])
def test_sop_with_variances_alone_predicts_the_sign_of_its_score(rng, scale):
    y = rng.integers(0, 2, 60)
    X = (rng.normal(size=(60, 3)) + y[:, None]) * scale
    model = SOP(covariance="diag", random_state=0).fit(X, y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.array_equal(model.predict(X), (scores >= 0).astype(int))
