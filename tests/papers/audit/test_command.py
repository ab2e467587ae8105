"""olbench audit: verdicts, exit codes, formats."""

import json
import signal

import pytest

from olbench.cli.papers import examine
from olbench.errors import UserError
from olbench.papers import audit
from olbench.papers.audit import REGISTRY, Evidence, Instance, check, checks
from olbench.papers.cw2008 import audit as cw2008

FAST = ("audit", "cw2008", "--check", "equation-13", "--trials", "2")


def test_a_check_that_is_as_expected_gives_exit_code_0(here):
    out = here.out(*FAST)
    assert "Eq. (13)" in out
    assert "missed by = 0.1446" in out
    assert "olbench audit cw2008 --check equation-13 --trials 2" in out
    assert "Everything is as expected." in out


@pytest.mark.parametrize(("name", "form"), [("root_14", lambda r, phi: 0.0), ("root_13", cw2008.root_14)])
def test_a_wrong_correction_or_a_lost_counter_example_gives_exit_code_1(here, monkeypatch, name, form):
    monkeypatch.setattr(cw2008, name, form)
    assert "Not as expected: cw2008 equation-13." in " ".join(here.out(*FAST, code=1).split())


def test_mistakes_get_exit_code_2(here):
    for words, message in (
        (("cw2007",), "there is no audit of 'cw2007' (did you mean 'cw2008'?); the papers are cw2008,"),
        (("my-paper.yaml",), "there is no audit of my-paper.yaml: its checks would be in audit.py, "),
        (("libol2013",), "there is no audit of libol2013: its checks would be in audit.py, "),
        (("cw2008", "--check", "theorem-5"), "there is no check 'theorem-5' (did you mean 'theorem-"),
        (("--trials", "0"), "0 is not in the range"),
        ((*FAST[1:], "--output", "/proc/none/audit.md"), "cannot write /proc/none/audit.md"),
    ):
        assert message in here.err("audit", *words)


def test_the_list_names_every_check(here):
    _, _, _, *lines = here.out("audit", "--list").splitlines()
    assert [line.split()[:2] for line in lines] == [[each.paper, each.id] for each in checks()]


def test_json_holds_everything_and_can_be_repeated(here, tmp_path):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    assert here(*FAST, "--format", "json", "--output", first)[0] == 0
    assert here(*FAST, "--format", "json", "--output", second)[0] == 0
    assert first.read_text() == second.read_text()
    [row] = json.loads(first.read_text())["checks"]
    assert row["printed"]["verdict"] == "wrong"
    assert row["printed"]["example"]["gamma"] == pytest.approx(0.8165, abs=1e-4)
    assert row["corrected"]["verdict"] == "holds"
    assert row["as_expected"] is True


@pytest.fixture
def made(monkeypatch):
    """Return a function that registers a check of some instances and runs it."""
    monkeypatch.setattr("olbench.papers.audit.REGISTRY", REGISTRY.copy())

    def run(*instances, **declared):
        def theorem_9(rng, trials):
            yield from instances

        check(paper="made", where="Theorem 9", statement="s", **declared)(theorem_9)
        return audit.REGISTRY["made", "theorem-9"].run()

    return run


def test_a_check_keeps_the_first_violation_and_the_worst(made):
    outcome = made(*(Instance(by, at=by) for by in (0.1, 0.7, float("nan"))), "a remark", within=(0.5, "m"))
    assert outcome.printed == Evidence(
        0.5, "m", tried=3, violations=2, worst=float("inf"), example={"at": 0.7}
    )
    assert outcome.corrected is None
    assert outcome.note == "a remark"


def test_either_form_has_its_instances_and_its_tolerance(made):
    instances = Instance(1.0, 0.5, x=1), Instance(2.0, x=2), Instance(None, -1.0, x=3)
    outcome = made(*instances, correction="c", corrected_within=(0.6, "n"))
    assert outcome.printed == Evidence(tried=2, violations=2, worst=2.0, example={"x": 1})
    assert outcome.corrected == Evidence(0.6, "n", tried=2, worst=0.5)


def test_what_is_expected_of_a_result(made, monkeypatch):
    for instance, correction, expected in (
        (Instance(-1.0), "", True),
        (Instance(1.0, x=1), "", False),
        (Instance(1.0, -1.0, x=1), "c", True),
        (Instance(1.0, 1.0, x=1), "c", False),
        (Instance(1.0, x=1), "c", False),
        (Instance(-1.0, -1.0), "c", False),
        (Instance(1.0, -1.0), "c", False),
        (Instance(-1.0, -1.0), "", False),
    ):
        monkeypatch.setattr("olbench.papers.audit.REGISTRY", REGISTRY.copy())
        assert made(instance, correction=correction).as_expected is expected, (instance, correction)
    monkeypatch.setattr("olbench.papers.audit.REGISTRY", REGISTRY.copy())
    assert not made().printed.holds, "nothing tried is nothing shown"


def test_two_files_cannot_share_a_name():
    declare = check(paper="cw2008", id="theorem-4", where="Theorem 4", statement="s")
    with pytest.raises(UserError, match="cw2008 has a check named 'theorem-4' already"):
        declare(lambda rng, trials: [])


def test_an_interrupt_that_a_library_swallows_still_ends_the_audit(monkeypatch):
    class Swallower:
        paper = id = "x"
        runs = 0

        def run(self, seed, trials):
            Swallower.runs += 1
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                return "the interrupt is lost"

    with pytest.raises(KeyboardInterrupt):
        examine([Swallower(), Swallower(), Swallower()], {"seed": 1, "trials": 1})
    assert Swallower.runs == 1
