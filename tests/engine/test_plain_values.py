"""What a protocol of a user's own sets and measures becomes plain values, or fails its own trial."""

from pathlib import Path

import pytest

from olbench import UserError, api
from olbench.engine.local import attempt
from olbench.plugins import forget_file, load_file
from olbench.protocols.reading import read_config

pytestmark = pytest.mark.usefixtures("own_folder")
PLAIN = """
from dataclasses import dataclass
from typing import Annotated
import numpy as np
from olbench import Cell, Experiment, Outcome, Protocol, Quantity, protocol
from olbench.protocols.definition import whole
@dataclass(frozen=True)
class PlainExperiment(Experiment):
    splits: Annotated[int, whole(1), "repeats"] = 2
    def setting(self, role):
        return SETTING
class PlainCell(Cell):
    @property
    def tuned_settings(self):
        return {"epochs": np.arange(1, 3)}
@protocol
class Plain(Protocol):
    id = "plain"
    experiment = PlainExperiment((), ())
    numbered = "split"
    quantities = (Quantity("loss", "loss", 3, judged=False, exact=True),)
    def cells(self, sources):
        return [PlainCell(self, *each) for each in self.experiment.entries(sources)]
    def run(self, trial, source, stopped):
        setting, number = trial.setting, trial.number
        return OUTCOME
"""
NUMBERED = "{'levels': {2: 1.0, 10: np.float32(0.5)}, 'sizes': (np.int64(3),)}"


@pytest.fixture
def plain(config):
    """Return a function that writes a protocol with this setting and outcome, and a config for it."""

    def write(outcome="Outcome({'loss': np.int64(3)})", setting="{}"):
        Path("plain.py").write_text(PLAIN.replace("OUTCOME", outcome).replace("SETTING", setting))
        return config(
            "protocol: plain\nplugins: [plain.py]\ndatasets: [breast-cancer]\nalgorithms: [perceptron]\n"
            "tuning: {search: grid}\n"
        )

    yield write
    forget_file(load_file("plain.py"))


@pytest.mark.parametrize("where", [("--jobs", 1), ("--cluster", "local:1")])
def test_a_protocol_sees_plain_settings_on_every_machine_and_may_measure_with_numpy(
    here, plain, records, where
):
    outcome = "Outcome({'loss': np.float32(setting['levels']['10'] + setting['sizes'][-1])}, "
    outcome += "{'curve': {'t': np.arange(2), 'loss': (np.float64(1), None)}}, state_bytes=np.int64(8))"
    path = plain(outcome, NUMBERED)
    assert here("run", path, "--out", "out", "--quiet", *where) == (0, "", "")
    assert len(records("out")) == 4
    for record in records("out"):
        assert record["setting"]["levels"] == {"2": 1.0, "10": 0.5}
        assert (record["loss"], record["state_bytes"]) == (3.5, 8)
        assert record["curve"] == {"t": [0, 1], "loss": [1.0, None]}
    assert "nothing to do" in here.out("run", path, "--out", "out")
    assert here("report", "out")[0] == 0


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("Outcome({'loss': np.nan})", "loss is nan; give a finite number, or None if it is undefined"),
        ("Outcome({'loss': None})", "its loss is missing"),
        ("Outcome({})", "its loss is missing"),
        ("Outcome({'loss': 'small'})", "its loss is 'small'"),
        ("Outcome({'loss': {1}})", "loss is a set; give numbers, text, lists or mappings"),
        ("Outcome({'loss': 1, 'n': 3, 'mistakes': 4})", "its mistakes is 4 of 3"),
        (
            "Outcome({'loss': 1, 'key': 1})",
            "a record has a field key of its own; give the quantity another name",
        ),
        (
            "Outcome({'loss': 1}, {'curve': {'t': [1.0, np.inf]}})",
            "curve.t is inf; give a finite number, or None if it is undefined",
        ),
        (
            "Outcome({'loss': 1}, arrays={'right': np.array([None])})",
            "the array right has Python objects; give it a dtype of numbers or text",
        ),
    ],
)
def test_an_outcome_that_no_record_can_hold_fails_its_trial_and_no_other(
    here, plain, records, outcome, reason
):
    path = plain(f"{outcome} if setting['epochs'] == 1 else Outcome({{'loss': 3}})")
    err = here.err("run", path, "--out", "out", "--jobs", 1, "--quiet", code=3)
    assert f"perceptron on breast-cancer: {reason}; " in err
    assert sorted((each["status"], each["error"]) for each in records("out")) == [
        ("failed", reason), *[("ok", None)] * 3,
    ]  # fmt: skip


def test_a_setting_that_json_cannot_hold_is_refused_before_the_first_trial(here, plain):
    for setting, reason in (
        ("{'levels': {3}}", "setting.levels is a set; give numbers, text, lists or mappings"),
        ("{'levels': [np.inf]}", "setting.levels is inf; give a finite number, or None if it is undefined"),
        ("{'levels': {1: 2, '1': 3}}", "setting.levels has two keys that are the same as text; give them "
         "other names"),
    ):  # fmt: skip
        assert here.err("run", plain(setting=setting), "--quiet") == f"olbench: {reason}\n"
        forget_file(load_file("plain.py"))


def test_a_wave_without_progress_ends_a_run(config):
    class Renames:
        def execute(self, trials, stop):
            return ({**attempt(trial, stop), "key": f"other-{trial.key}"} for trial in trials)

    plan = api.plan(read_config(Path(config())))
    with pytest.raises(UserError, match="none of 20 trials came back under its own key"):
        api.complete(plan.cells, Path("out"), 1, quiet=True, executor=Renames())
