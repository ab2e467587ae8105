"""Are public learners the algorithms of their papers? `make survey` writes docs/tables/conformance.md."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from olbench.algorithms import get_definition
from olbench.conformance.objects import make_subject
from olbench.conformance.rendering import explain, render_evidence, render_text
from olbench.conformance.subjects import Subject
from olbench.conformance.verdict import Conformance, judge
from olbench.errors import describe_error, shorten

PAGE = Path(__file__).resolve().parents[1] / "docs/tables/conformance.md"
#: Parameters that distinguish conventions: none is 1, and none is the square or the inverse of another.
R, C, B, ETA = 0.7, 0.4, 3.0, 0.8
#: The first step of ALMA, long enough for its projection.
LONG = 1.2


@dataclass(frozen=True)
class SurveyedLearner:
    """A public learner, the algorithm that its documentation names, and how it is built."""

    package: str
    module: str
    name: str
    algorithm: str
    #: Arguments of the learner, and what they are for the algorithm.
    arguments: dict[str, Any] = field(default_factory=dict)
    params: dict[str, float | str] = field(default_factory=dict)
    #: How to build the learner, where its constructor alone does not.
    adapt: Callable[[Any, dict[str, Any]], Any] | None = None
    label: str = ""

    def find_subject(self) -> Subject:
        found = getattr(import_module(self.module), self.name)
        adapt = self.adapt or (lambda learner, arguments: learner(**arguments))
        return make_subject(partial(adapt, found, self.arguments), {}, self.title)

    @property
    def title(self) -> str:
        """The name of the learner, with the arguments that choose the algorithm."""
        return self.label or self.name


@dataclass(frozen=True)
class SurveyRow:
    learner: SurveyedLearner
    version: str
    verdict: Conformance | None
    reason: str = ""


def _olpy(
    name: str, algorithm: str, params: dict[str, Any] | None = None, arguments: dict[str, Any] | None = None
) -> SurveyedLearner:
    given = params or {}
    return SurveyedLearner("olpy", "olpy.classifiers", name, algorithm, arguments or given, given)


def _sklearn(name: str, algorithm: str, arguments: dict[str, Any], **other: Any) -> SurveyedLearner:
    return SurveyedLearner("scikit-learn", "sklearn.linear_model", name, algorithm, arguments, **other)


def _river(name: str, algorithm: str, arguments: dict[str, Any], **other: Any) -> SurveyedLearner:
    adapted = {"adapt": _without_zeros, **other}
    return SurveyedLearner("river", "river.linear_model", name, algorithm, arguments, **adapted)


def _without_zeros(learner: Any, arguments: dict[str, Any]) -> Any:
    """Return a learner of River that is given the non-zero features only, as from a bag of words."""

    class Adapted(learner):  # type: ignore[misc]
        def predict_one(self, x: Any) -> Any:
            return super().predict_one({j: value for j, value in x.items() if value})

        def learn_one(self, x: Any, y: Any) -> None:
            super().learn_one({j: value for j, value in x.items() if value}, y)

    return Adapted(**arguments)


class _Workspace:
    """Vowpal Wabbit with one feature per column; its weights are read one by one."""

    def __init__(self, workspace: Any, arguments: dict[str, Any]):
        words = [f"--{name} {value}".rstrip() for name, value in arguments.items()]
        self.workspace = workspace(
            " ".join(["--quiet --noconstant -b 10 --min_prediction -100 --max_prediction 100", *words])
        )
        self.d = 0

    def _read(self, x: Any, label: str = "") -> Any:
        self.d = len(x)
        return f"{label}| " + " ".join(f"f{j}:{value!r}" for j, value in enumerate(x.tolist()) if value)

    def predict(self, X: Any) -> Any:
        return np.array([1.0 if self.workspace.predict(self._read(x)) >= 0.0 else -1.0 for x in X])

    def partial_fit(self, X: Any, y: Any) -> None:
        for x, label in zip(X, y, strict=True):
            self.workspace.learn(self._read(x, f"{label:+.0f} "))

    @property
    def coef_(self) -> Any:
        names = (f"f{j}" for j in range(self.d))
        space = self.workspace.hash_space(" ")
        return np.array(
            [self.workspace.get_weight(self.workspace.hash_feature(name, space)) for name in names]
        )


class _Oll:
    """A learner of oll, which takes dictionaries and shows scores."""

    def __init__(self, learner: Any, arguments: dict[str, Any]):
        self.model = learner(**arguments)

    def decision_function(self, X: Any) -> Any:
        return np.array([self.model.classify(dict(enumerate(map(float, x)))) for x in X])

    def predict(self, X: Any) -> Any:
        return np.where(self.decision_function(X) >= 0.0, 1.0, -1.0)

    def partial_fit(self, X: Any, y: Any) -> None:
        for x, label in zip(X, y, strict=True):
            self.model.add(dict(enumerate(map(float, x))), int(label))


def _with_numbers(learner: Any, arguments: dict[str, Any]) -> Any:
    """Return a learner of scw whose 1 x 1 arrays are numbers, which newer NumPy requires."""

    class Adapted(learner):  # type: ignore[misc]
        def calc_confidence(self, x: Any) -> float:
            return float(super().calc_confidence(x).item())

        def calc_margin(self, x: Any, label: float) -> float:
            return float(super().calc_margin(x, label).item())

    return Adapted(**arguments)


def _oll(code: str, algorithm: str, arguments: dict[str, Any], **params: Any) -> SurveyedLearner:
    given = {"algorithm": code, **arguments}
    return SurveyedLearner("oll", "oll", "oll", algorithm, given, params, _Oll, f"oll('{code}')")


LEARNERS: Sequence[SurveyedLearner] = (
    _olpy("Perceptron", "perceptron"),
    _olpy("PA", "pa"),
    _olpy("PA_I", "pa1", {"C": C}),
    _olpy("PA_II", "pa2", {"C": C}),
    _olpy("ROMMA", "romma"),
    _olpy("aROMMA", "aromma"),
    _olpy("ALMA", "alma", {"alpha": ETA, "C": LONG}),
    _olpy("OGD", "ogd", {"C": C, "loss": "zero-one"}, {"C": C}),
    _olpy("SecondOrderPerceptron", "sop"),
    _olpy("IELLIP", "iellip", {"b": 0.6, "c": 0.2}),
    _olpy("CW", "cw", {"eta": ETA}),
    _olpy("ECCW", "cw", {"eta": ETA}),
    _olpy("NHerd", "nherd", {"C": C}),
    _olpy("AROW", "arow", {"r": R}),
    _olpy("NAROW", "narow", {"b": B}, {"a": B}),
    _olpy("SCW", "scw1", {"C": C, "eta": ETA}),
    _olpy("SCW2", "scw2", {"C": C, "eta": ETA}),
    _river("Perceptron", "perceptron", {}),
    _river("PAClassifier", "pa1", {"C": C, "mode": 1}, params={"C": C}, label="PAClassifier(mode=1)"),
    _river(
        "PAClassifier", "pa1", {"C": C, "mode": 1, "learn_intercept": False}, params={"C": C},
        label="PAClassifier(mode=1, learn_intercept=False)",
    ),
    _river(
        "PAClassifier", "pa2", {"C": C, "mode": 2, "learn_intercept": False}, params={"C": C},
        label="PAClassifier(mode=2, learn_intercept=False)",
    ),
    _river(
        "ALMAClassifier", "alma", {"alpha": ETA, "C": LONG, "p": 2, "B": 1 / ETA},
        params={"alpha": ETA, "C": LONG},
    ),
    _sklearn("Perceptron", "perceptron", {"shuffle": False}),
    _sklearn(
        "Perceptron", "perceptron", {"shuffle": False, "fit_intercept": False},
        label="Perceptron(fit_intercept=False)",
    ),
    _sklearn(
        "SGDClassifier", "pa1",
        {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": C, "shuffle": False,
         "fit_intercept": False},
        params={"C": C}, label="SGDClassifier(learning_rate='pa1')",
    ),
    _sklearn(
        "SGDClassifier", "pa2",
        {"loss": "hinge", "penalty": None, "learning_rate": "pa2", "eta0": C, "shuffle": False,
         "fit_intercept": False},
        params={"C": C}, label="SGDClassifier(learning_rate='pa2')",
    ),
    _sklearn(
        "SGDClassifier", "ogd",
        {"loss": "hinge", "penalty": None, "learning_rate": "invscaling", "power_t": 0.5, "eta0": C,
         "shuffle": False, "fit_intercept": False},
        params={"C": C}, label="SGDClassifier(learning_rate='invscaling')",
    ),
    SurveyedLearner(
        "vowpalwabbit", "vowpalwabbit.pyvw", "Workspace", "ogd",
        {"loss_function": "hinge", "learning_rate": C, "power_t": 0.5, "sgd": ""}, {"C": C}, _Workspace,
        "--sgd --loss_function hinge --power_t 0.5",
    ),
    _oll("P", "perceptron", {}),
    _oll("AP", "averaged-perceptron", {}),
    _oll("PA", "pa", {}),
    _oll("PA1", "pa1", {"C": C}, C=C),
    _oll("PA2", "pa2", {"C": C}, C=C),
    _oll("CW", "cw-var", {"C": C}, phi=C),
    _oll("AL", "alma", {"C": ETA}, alpha=ETA),
    SurveyedLearner(
        "scw", "scw", "SCW1", "scw1", {"C": C, "ETA": ETA}, {"C": C, "eta": ETA}, _with_numbers
    ),
    SurveyedLearner(
        "scw", "scw", "SCW2", "scw2", {"C": C, "ETA": ETA}, {"C": C, "eta": ETA}, _with_numbers
    ),
)  # fmt: skip


def examine(learners: Iterable[SurveyedLearner]) -> Iterator[SurveyRow]:
    """Examine the learners whose library is installed; the others are listed with the reason."""
    for learner in learners:
        try:
            installed = version(learner.package)
        except PackageNotFoundError:
            yield SurveyRow(learner, "", None, "not installed")
            continue
        try:
            subject = learner.find_subject()
        except Exception as error:  # a library that does not work with this Python or NumPy
            yield SurveyRow(learner, installed, None, shorten(describe_error(error), 120))
            continue
        definition = get_definition(learner.algorithm)
        yield SurveyRow(learner, installed, judge(subject, definition, definition.resolve(learner.params)))


def render_survey(rows: Sequence[SurveyRow]) -> str:
    """Return the page: a table, and the smallest example of each finding."""
    lines = ["| library | learner | compared with | verdict | because |", "|:--|:--|:--|:--|:--|"]
    for row in rows:
        cells = [
            f"{row.learner.package} {row.version}".strip(), f"`{row.learner.title}`", row.learner.algorithm,
            _name_verdict(row), _explain_row(row).replace("|", "\\|"),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "### The smallest example of each finding", ""]
    for row in rows:
        if row.verdict is not None and row.verdict.outcome != "conforms":
            lines += [f"**{row.learner.package}: `{row.learner.title}`**", ""]
            lines += ["```text", render_text(row.verdict).strip(), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _name_verdict(row: SurveyRow) -> str:
    names = {"convention": "other convention", "variant": "known variant", "defect": "known defect"}
    if row.verdict is None:
        return "not examined"
    return names.get(row.verdict.outcome, row.verdict.outcome)


def _explain_row(row: SurveyRow) -> str:
    if row.verdict is None:
        return row.reason
    if row.verdict.outcome == "conforms":
        remarks = "".join(f"; {remark}" for remark in row.verdict.remarks)
        return f"{render_evidence(row.verdict)}{remarks}"
    if row.verdict.outcome in ("differs", "failed"):
        return row.verdict.failure or f"{row.verdict.place}: no known deviation explains it"
    return explain(row.verdict)


if __name__ == "__main__":
    found = []
    for row in examine(LEARNERS):
        print(f"{row.learner.package} {row.version}: {row.learner.title}: {_name_verdict(row)}", flush=True)
        found.append(row)
    PAGE.write_text(render_survey(found), encoding="utf-8")
