"""Experiments with random options, through the real command, compared with the oracle number by number.

`make test` draws few, always the same; `make crossings` draws thousands and prints how often options met.
"""

import contextlib
import io
import itertools
import json
import math
import os
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
import yaml
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st

from olbench.cli import main
from olbench.estimators import ESTIMATORS
from olbench.protocols import online
from olbench.records.arrays import read_array
from tests.crossings import oracle
from tests.reference import learners as reference

PLUGIN = Path(__file__).parent / "contestants.py"
LONG = settings.get_current_profile_name() == "long"
#: How often two options met, by their names.
MET = Counter()
#: The combinations of options that have passed.
SEEN = set()

ETA = (0.6, 0.75, 0.9)
PARAMETERS = {
    "margin-perceptron": {"margin": (0.0, 0.5, 1.0)}, "pa1": {"C": (0.1, 1.0)}, "pa2": {"C": (0.1, 1.0)},
    "ogd": {"C": (0.5, 1.0), "loss": ("hinge",)}, "averaged-pa1": {"C": (0.1, 1.0)},
    "shrinking": {"C": (0.1, 1.0)},
    "cw": {"eta": ETA}, "cw-var": {"eta": ETA}, "arow": {"r": (0.1, 1.0)}, "nherd": {"C": (0.1, 1.0)},
    "narow": {"b": (1.0, 4.0)}, "scw1": {"C": (0.1, 1.0), "eta": ETA}, "scw2": {"C": (0.1, 1.0), "eta": ETA},
    "iellip": {"b": (0.5, 0.9), "c": (0.1, 0.5)}, "fading": {"r": (0.1, 1.0)},
    "one-by-one": {"cut": (0.5, 0.3)}, "non-zeros": {"cut": (0.5, 0.3)},
    "row-by-row": {"margin": (0.25, 0.5)},
    "adagrad": {"eta": (0.1, 1.0), "delta": (1e-8,)}, "fobos": {"eta": (0.1, 1.0), "lam": (0.001, 0.1)},
}  # fmt: skip
OBJECTS = ("one-by-one", "non-zeros", "row-by-row")
GAUSSIAN = tuple(id for id in reference.SECOND if id != "iellip")
NATIVE_SECOND = ("arow", "cw", "scw1", "scw2")
NATIVE_FIRST = ("perceptron", "pa", "pa1", "pa2", "ogd", "romma", "aromma", "shrinking")
OF_COUNTS = (
    "mistake_rate", "accuracy", "balanced_accuracy", "sensitivity", "specificity", "precision", "f1",
    "g_mean", "kappa", "mcc",
)  # fmt: skip
OF_MARGINS = ("auc", "hinge_loss", "squared_loss", "log_loss")
OF_CLASSES = ("mistake_rate", "accuracy", "balanced_accuracy", "kappa", "macro_f1")
CONFUSION = ("mistakes", "positives", "false_alarms")
HIGHER = {*OF_COUNTS, "auc", "macro_f1"} - {"mistake_rate"}


@dataclass(frozen=True)
class Experiment:
    """A config, the examples of its file, and further operations on the run."""

    config: dict
    X: np.ndarray
    y: np.ndarray
    #: The labels that mean +1, or empty if every label is a class.
    positive: tuple
    form: str
    deeds: tuple
    jobs: int
    block: int

    @property
    def targets(self):
        if not self.positive:
            return np.unique(self.y, return_inverse=True)[1].astype(float)
        return np.where(np.isin(self.y, self.positive), 1.0, -1.0)

    def get(self, key, default=None):
        return self.config.get(key, default)

    @property
    def tuning(self):
        return self.config.get("tuning", {"search": "none"})

    @property
    def is_too_short(self):
        """Whether no row would tune, or a fold would be empty."""
        n, is_unique = len(self.y), self.get("duplicates") == "remove"
        rows = np.unique(self.X + 0.0, axis=0).shape[0] if is_unique else n
        fewest = max(self.get("folds", 0), 3 if self.tuning["search"] == "paper" else 0)
        return not round(self.tuning.get("prefix", 1) * n) or rows < fewest

    def facts(self):
        """Return the options by name, to count which ones met."""
        tuning = f"tuning={self.tuning['search']}"
        found = [self.get("protocol"), f"order={self.get('order')}", tuning, self.form]
        found += [name for name in ("delay", "warm") if self.get(name)] + [f"jobs={self.jobs}", *self.deeds]
        found += ["classes"] * (not self.positive) + list(self.get("measures", ()))
        for entry in self.get("algorithms"):
            own = (*OBJECTS, "shrinking", "fading")
            found.append(entry["id"] if entry["id"] in own else "built-in")
            keys = ("covariance", "projection", "multiclass", "forgetting")
            found += [f"{key}={entry[key]}" for key in keys if key in entry]
        return sorted(set(found))


@st.composite
def examples(draw, protocol, classes):
    """Draw rows of a noisy linear concept: full or sparse, with rows of zeros and duplicates."""
    n = draw(st.integers(30, 110) if classes or draw(st.integers(0, 4)) else st.integers(4, 9))
    d = draw(st.integers(2, 8))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = random.standard_normal((n, d)) * (random.random((n, d)) < draw(st.sampled_from([1.0, 0.6, 0.3])))
    X[:, -1] += X[:, -1] == 0 if random.random() < 0.5 else 0
    for _ in range(draw(st.integers(0, 3))):
        i, j = random.integers(n, size=2)
        X[i] = X[j] if random.random() < 0.5 else 0.0
    # After a step of PA, the margins of all classes on a multiple of the row are equal but for rounding.
    X[np.count_nonzero(X, axis=1) == 1] = 0.0
    X[0, -2:] = 0.5, 1.0  # a LIBSVM file ends with its last feature
    labels = draw(st.sampled_from([(-1, 1), (0, 1), (1, 2)])) if not classes else tuple(range(1, classes + 1))
    noise, shift = draw(st.sampled_from([0.1, 1.0])), draw(st.sampled_from([0.0, 0.0, -1.5]))
    scores = X @ random.standard_normal((d, len(labels) if classes else 1))
    scores = scores + noise * random.standard_normal(scores.shape)
    picked = scores.argmax(axis=1) if classes else (scores[:, 0] + shift >= 0).astype(int)
    picked[random.permutation(n)[: len(labels)]] = np.arange(len(labels))  # every label occurs
    return X, np.array(labels)[picked]


@st.composite
def entries(draw, protocol, classes, tuned):
    """Draw an entry of `algorithms`: an id with its options, parameters and grid."""
    kind = draw(st.sampled_from(["first", "second", "second", "compiled", "own", "object"]))
    native = classes and kind in ("first", "second") and draw(st.booleans())
    pools = {
        "first": NATIVE_FIRST if native else tuple(reference.FIRST), "own": ("shrinking", "fading"),
        "second": NATIVE_SECOND if native else (*reference.SECOND, "sop"), "object": OBJECTS,
        "compiled": ("adagrad", "fobos"),
    }  # fmt: skip
    id = draw(st.sampled_from(pools[kind]))
    entry = {"id": id}
    if native:
        entry["multiclass"] = "native"
        if id == "perceptron":
            entry["allocation"] = draw(st.sampled_from(["max", "uniform", "prop"]))
    if id in (*reference.SECOND, "sop"):
        plain = ("full",) if id == "iellip" else ("full", "diag")
        entry["covariance"] = draw(st.sampled_from(("block", "shared", "diag") if native else plain))
        if entry["covariance"] == "diag" and id != "sop":
            exact = ("exact",) if id == "cw" or (id == "cw-var" and not native) else ()
            entry["projection"] = draw(st.sampled_from(("kl", "l2", *exact)))
        if id in GAUSSIAN:
            entry["a"] = draw(st.sampled_from([1.0, 0.5]))
            if not native and draw(st.integers(0, 2)) == 0:
                entry["forgetting"] = draw(st.sampled_from([0.9, 0.99]))
        if entry["covariance"] == "full" and "forgetting" not in entry and draw(st.booleans()):
            entry["form"] = draw(st.sampled_from(["root", "covariance"]))
    known = PARAMETERS.get(id, {})
    searched = [name for name in known if tuned and draw(st.booleans())]
    entry["params"] = {name: draw(st.sampled_from(known[name])) for name in known if name not in searched}
    if tuned:
        entry["grid"] = {name: list(known[name]) for name in searched}
    return {key: value for key, value in entry.items() if value != {} or key == "id"}


@st.composite
def experiments(draw):
    protocol = draw(st.sampled_from(["online", "online", "stream", "stream", "crossval"]))
    classes = draw(st.sampled_from([0, 0, 3, 4])) if protocol == "online" else 0
    shown = classes or draw(st.sampled_from([0, 0, 3]))
    X, y = draw(examples(protocol, shown))
    n, config = len(y), {"protocol": protocol, "seed": draw(st.integers(0, 3))}
    positive = () if classes else (2,) if shown else (int(y.max()),)
    ways = {"online": ("none", "grid", "holdout"), "stream": ("none", "grid")}
    way = draw(st.sampled_from(ways.get(protocol, ("none", "nested", "paper", "oracle"))))
    tuned = way != "none"
    entry = entries(protocol, classes, tuned)
    config["algorithms"] = draw(st.lists(entry, min_size=1, max_size=2, unique_by=lambda each: each["id"]))
    if tuned:
        config["tuning"] = {"search": way, "ties": draw(st.sampled_from(["last", "first", "middle"]))}
    if protocol == "crossval":
        config |= {"folds": draw(st.integers(2, 5)), "repeats": draw(st.integers(1, 2))}
        config |= {"epochs": draw(st.integers(1, 3)), "duplicates": draw(st.sampled_from(["keep", "remove"]))}
    else:
        names = OF_CLASSES if classes else (*OF_COUNTS, *OF_MARGINS)
        config["curve"] = draw(st.integers(1, 6))
        asked = draw(st.lists(st.sampled_from(names), max_size=4, unique=True))
        config |= {"measures": asked} if asked else {}
        config |= {"keep": "predictions"} if draw(st.booleans()) else {}
    if protocol == "online":
        config["permutations"] = draw(st.integers(1, 3))
        config["order"] = draw(st.sampled_from(["exact", "windows"]))
        if way == "grid":
            config["tuning"]["permutations"] = draw(st.integers(1, 2))
    if protocol == "stream":
        config["window"] = draw(st.integers(1, 40))
        prefix = draw(st.sampled_from([0.1, 0.3, 0.5])) if tuned else 0
        most = max(0, round(prefix * n) - 1) if tuned else n - 1
        config |= {"delay": draw(st.integers(0, min(12, n - 1))), "warm": draw(st.integers(0, most))}
        if tuned:
            config["tuning"]["prefix"] = prefix
    deeds = ("exclusive", "killed", "repeated", "bundled", "verified", "reused", "edited", "estimated")
    chosen = draw(st.lists(st.sampled_from(deeds), max_size=2, unique=True))
    jobs = draw(st.sampled_from([1, 1, 1, 2])) if LONG or not uses_objects(config) else 1
    if LONG and not draw(st.integers(0, 40)) and "exclusive" not in chosen:
        chosen.append("cluster")
    form, block = draw(st.sampled_from(["libsvm", "csv"])), draw(st.sampled_from([200, 1000, 1 << 20]))
    return Experiment(config, X, y, positive, form, tuple(sorted(chosen)), jobs, block)


def uses_objects(config):
    return any(entry["id"] in OBJECTS for entry in config["algorithms"])


def write_data(folder, experiment):
    """Write the examples, and return the entry of `datasets`."""
    path = folder / f"rows.{experiment.form}"
    rows = list(zip(experiment.X.tolist(), experiment.y.tolist(), strict=True))
    if experiment.form == "csv":
        lines = [",".join([*(f"f{j}" for j in range(experiment.X.shape[1])), "class"])]
        lines += [",".join(map(repr, [*x, label])) for x, label in rows]
    else:
        entries = (" ".join(f"{j + 1}:{value!r}" for j, value in enumerate(x) if value) for x, _ in rows)
        lines = [f"{label} {text}" for (_, label), text in zip(rows, entries, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    spec = {"name": "rows", "path": str(path)} | ({"label": "class"} if experiment.form == "csv" else {})
    if not experiment.positive:
        return {**spec, "labels": "all"}
    return {**spec, "positive": list(experiment.positive)} if np.unique(experiment.y).size > 2 else spec


def command(*words, expects=0):
    """Run the command in this process; return its output."""
    out, errors, code = io.StringIO(), io.StringIO(), 0
    words = ["olbench", *map(str, words)]
    spoken = contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors)
    with mock.patch.object(sys, "argv", words), spoken[0], spoken[1]:
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    assert code == expects, f"{' '.join(words)}: {code}\n{out.getvalue()}{errors.getvalue()}"
    return out.getvalue()


def read_records(folder):
    lines = (folder / "trials.jsonl").read_text().splitlines()
    found = list({record["key"]: record for record in map(json.loads, lines)}.values())
    assert [record["error"] for record in found if record["status"] != "ok"] == []
    return found


class Expected:
    """The numbers that a run must have, trial by trial; among equals, its own choice is taken."""

    def __init__(self, experiment, folder=None):
        self.experiment, self.folder = experiment, folder
        self.left = read_records(folder) if folder else []
        self.X, self.y = experiment.X.astype(reference.L), experiment.targets
        self.n, self.seed, self.protocol = len(self.y), experiment.get("seed"), experiment.get("protocol")
        self.classes = 0 if experiment.positive else int(self.y.max()) + 1
        usual = {"online": "mistake_rate", "stream": "accuracy", "crossval": "test_error"}[self.protocol]
        self.ranked = experiment.get("measures", [usual])[0]

    def take(self, id, role, number, params):
        for k, record in enumerate(self.left):
            found = record["algorithm"], record["role"], record["number"], record["params"]
            if found == (id, role, number, params):
                return self.left.pop(k)
        raise AssertionError(f"no record of {id}, {role} {number}, {params}")

    def check(self):
        """Compare all records; return the expected values of each entry, by its id."""
        entries = list(self.experiment.get("algorithms"))
        if self.protocol == "stream":
            entries += [{"id": "no-change"}, {"id": "majority-so-far"}]
        rows = {entry["id"]: getattr(self, self.protocol)(entry) for entry in entries}
        assert not self.left, f"{len(self.left)} trials too many: {self.left[0]}"
        return rows

    def compare_arrays(self, record, **expected):
        found = {name: read_array(self.folder, place) for name, place in record.get("arrays", {}).items()}
        found.pop("pairs", None)  # checked through the AUC
        assert sorted(found) == sorted(expected), f"arrays {sorted(found)}, not {sorted(expected)}"
        for name, array in found.items():
            np.testing.assert_allclose(array, expected[name], rtol=1e-6, atol=1e-9, err_msg=name)

    def start(self, entry, params):
        return reference.start(entry["id"], self.X.shape[1], params, entry, self.classes)

    def choose(self, entry, score):
        """Return what a tuning must have chosen; `score` returns the value of a candidate and its counts.

        Among equals the config decides, as among candidates that all have no value; but values from
        different counts are equal up to rounding.
        """
        products = oracle.products(entry.get("grid", {}))
        candidates = [{**entry.get("params", {}), **values} for values in products]
        scored = [score(each) for each in candidates] if len(candidates) > 1 else [(0, None)]
        best = min(value for value, _ in scored)
        near = [k for k, (value, _) in enumerate(scored) if value <= best + 1e-9 or value == best]
        are_equal = len({str(scored[k][1]) for k in near}) == 1
        if best == math.inf or not self.experiment.get("measures") or are_equal:
            place = {"first": 0, "last": -1, "middle": len(near) // 2}
            near = [near[place[self.experiment.tuning.get("ties", "last")]]]
        chosen = [r["params"] for r in self.left if (r["algorithm"], r["role"]) == (entry["id"], "report")]
        right = [candidates[k] for k in near if candidates[k] in chosen]
        assert right, f"{entry['id']}: {chosen} was chosen, not {[candidates[k] for k in near]}"
        return right[0]

    def loss(self, value):
        if value is None:
            return math.inf
        return -value if self.ranked in HIGHER else value

    def measured(self, found, names):
        return oracle.measure(found, names, self.classes)

    def online(self, entry):
        names = self.experiment.get("measures", [])
        params = self.choose(entry, lambda each: self.score_online(entry, each))
        rows = []
        for number in range(self.experiment.get("permutations")):
            record = self.take(entry["id"], "report", number, params)
            part = "reported half" if self.experiment.tuning["search"] == "holdout" else "all"
            assert record["setting"]["part"] == part
            rows.append(self.compare_online(entry, params, record, "report", number, names))
        return rows

    def score_online(self, entry, params):
        scores, counts = [], []
        for number in range(self.experiment.tuning.get("permutations", 1)):
            record = self.take(entry["id"], "tune", number, params)
            names = self.experiment.get("measures", [])[:1]
            row = self.compare_online(entry, params, record, "tune", number, names)
            scores.append(self.loss(row[self.ranked]))
            counts.append([row.get(name) for name in CONFUSION])
        return sum(scores), counts if not self.classes else record["key"]

    def compare_online(self, entry, params, record, role, number, names):
        order = oracle.order_of(self.seed, "rows", role, number, self.n, record["setting"])
        found = oracle.run_pass(self.start(entry, params), self.X, self.y, order)
        whole = found.cut(0)
        expected = {"n": len(order), "updates": found.updates[-1], "breakdowns": 0}
        expected |= {"effective_updates": found.effective} if found.effective is not None else {}
        if self.classes:
            expected["mistakes"] = int((whole.truth != whole.predicted).sum())
            expected |= self.measured(whole, ["balanced_accuracy", "kappa", "macro_f1"])
        else:
            expected |= oracle.count(whole)
            expected |= self.measured(whole, [name for name in names if name in OF_MARGINS])
        points = oracle.curve_points(len(order), record["setting"]["points"])
        curve = {"t": points, "updates": [found.updates[t - 1] for t in points]}
        if self.classes:
            curve["mistakes"] = [int((whole.truth != whole.predicted)[:t].sum()) for t in points]
        else:
            counts = [oracle.count(found.cut(0, t)) for t in points]
            curve |= {name: [each[name] for each in counts] for name in CONFUSION}
        compare({**record, **record["curve"]}, {**curve}, entry)
        compare(record, expected, entry)
        if role == "report":
            truth = np.array(whole.truth) if self.classes else np.array(whole.truth) > 0
            wrong = truth != whole.predicted
            self.compare_groups(record, np.array(order), wrong, None if self.classes else wrong & ~truth)
        else:
            assert "groups" not in record
        keeps = role == "report" and self.experiment.get("keep")
        if self.classes:
            pairs = np.column_stack([whole.truth, whole.predicted]).astype(int)
            confusion = np.zeros((self.classes, self.classes), int)
            np.add.at(confusion, tuple(pairs.T), 1)
            kept = {"predictions": whole.predicted} if keeps else {}
            self.compare_arrays(record, confusion=confusion, **kept)
        else:
            self.compare_arrays(record, **({"margins": whole.margins} if keeps else {}))
        return {**expected, **self.measured(whole, {*names, self.ranked, "mistake_rate"})}

    def compare_groups(self, record, rows, wrong, alarms):
        groups = oracle.seeds.groups(self.seed, "rows", self.n)
        counts = {"mistakes": wrong} | ({} if alarms is None else {"false_alarms": alarms})
        for name, chosen in counts.items():
            expected = np.zeros(max(1, min(100, self.n // 2)), int)
            for group in groups[rows[np.asarray(chosen, bool)]]:
                expected[group] += 1
            assert record["groups"][name] == expected.tolist(), name

    def stream(self, entry):
        names = self.experiment.get("measures", [])
        params = self.choose(entry, lambda each: self.score_stream(entry, each))
        record = self.take(entry["id"], "report", 0, params)
        return [self.compare_stream(entry, params, record, names)]

    @property
    def prefix(self):
        tuning = self.experiment.tuning
        return round(tuning["prefix"] * self.n) if tuning["search"] != "none" else 0

    def score_stream(self, entry, params):
        record = self.take(entry["id"], "tune", 0, params)
        row = self.compare_stream(entry, params, record, self.experiment.get("measures", [])[:1])
        return self.loss(row[self.ranked]), [row[name] for name in CONFUSION]

    def compare_stream(self, entry, params, record, names):
        delay, warm, window = (self.experiment.get(key) for key in ("delay", "warm", "window"))
        tunes = record["role"] == "tune"
        end, begin = (self.prefix, warm) if tunes else (self.n, max(warm, self.prefix))
        baselines = (reference.start(id, 1, {}, {}) for id in ("no-change", "majority-so-far"))
        learners = (self.start(entry, params), *baselines)
        found, last, majority = (
            oracle.run_pass(each, self.X, self.y, range(end), delay) for each in learners
        )
        scored, before = found.cut(begin), found.updates[begin - 1] if begin else 0
        expected = {
            **oracle.count(scored), "labels": found.labels[-1], "updates": found.updates[-1] - before,
            "no_change_mistakes": oracle.count(last.cut(begin))["mistakes"],
            "majority_mistakes": oracle.count(majority.cut(begin))["mistakes"], "breakdowns": 0,
        }  # fmt: skip
        expected |= self.measured(scored, [name for name in names if name in OF_MARGINS])
        points = oracle.curve_points(end - begin, record["setting"]["points"])
        parts = [(oracle.count(scored.cut(0, t)), scored.cut(max(0, t - window), t)) for t in points]
        curve = {
            "t": [begin + t for t in points],
            "updates": [found.updates[begin + t - 1] - before for t in points],
            "labels": [found.labels[begin + t - 1] for t in points],
        }  # fmt: skip
        for name in ("n", *CONFUSION):
            curve[name] = [sofar[name] for sofar, _ in parts]
            curve[f"window_{name}"] = [oracle.count(part)[name] for _, part in parts]
        if "auc" in names:
            curve["window_auc"] = [oracle.auc(part) for _, part in parts]
        compare({**record, **record["curve"]}, {**curve}, entry)
        compare(record, expected, entry)
        kept = {"margins": scored.margins} if self.experiment.get("keep") and not tunes else {}
        if len(scored.truth) >= 20 and not tunes:
            each = [scored.cut(t, t + 1) for t in range(len(scored.truth))]
            kept["counts"] = [[1, *(oracle.count(one)[name] for name in CONFUSION)] for one in each]
        self.compare_arrays(record, **kept)
        kappas = {"kappa_m": "majority_mistakes", "kappa_temporal": "no_change_mistakes"}
        beyond = {
            name: 1 - expected["mistakes"] / expected[base] if expected[base] else None
            for name, base in kappas.items()
        }
        return {**expected, **beyond, **self.measured(scored, {*names, self.ranked, "accuracy"})}

    def crossval(self, entry):
        get, way = self.experiment.get, self.experiment.tuning["search"]
        folds, epochs, ties = get("folds"), get("epochs"), self.experiment.tuning.get("ties")
        rows = np.arange(self.n)
        if get("duplicates") == "remove":
            rows = np.sort(np.unique(self.experiment.X + 0.0, axis=0, return_index=True)[1])
        grid, fixed = entry.get("grid", {}), entry.get("params", {})
        chosen = {"epochs": epochs}
        if way in ("paper", "oracle"):
            tables = []
            for number in range(folds if way == "oracle" else 1):
                record = self.take(entry["id"], "tune", number, fixed)
                random = oracle.seeds.generator(self.seed, "rows", "tune", number)
                split = oracle.hold_out(rows, self.y, random)
                if way == "oracle":
                    split = oracle.divide(rows, self.seed, "rows", folds, number)
                table = self.score_folds(entry, fixed, grid, split, "tune", number)
                compare(record, {"n": split[1].size, "errors": int(np.min(table))})
                assert record["scores"]["errors"] == table.tolist()
                tables.append(table)
            chosen = pick(sum(tables), grid, ties)
        found = []
        for number in range(folds * get("repeats")):
            split = oracle.divide(rows, self.seed, "rows", folds, number)
            if way == "nested":
                random = oracle.seeds.generator(self.seed, "rows", "nested", number)
                inner = oracle.hold_out(split[0], self.y, random)
                table = self.score_folds(entry, fixed, grid, inner, "report", number)
                chosen = pick(table, grid, ties)
            params = {**fixed, **{name: value for name, value in chosen.items() if name != "epochs"}}
            record = self.take(entry["id"], "report", number, fixed if way == "nested" else params)
            if way == "nested":
                assert record["choice"] == chosen
                assert record["scores"]["errors"] == table.tolist()
            curve = self.follow(entry, params, split, "report", number)
            wrong, errors, training = curve[chosen["epochs"] - 1]
            expected = {
                "n": split[1].size, "errors": errors, "training_n": split[0].size,
                "training_errors": training, "epochs": chosen["epochs"],
            }  # fmt: skip
            compare(record, expected)
            self.compare_arrays(record, **({"wrong": wrong} if number < folds else {}))
            self.compare_groups(record, split[1], wrong, np.array(wrong) & (self.y[split[1]] < 0))
            shares = [round(error / split[1].size, 6) for _, error, _ in curve]
            assert record["by_epoch"]["test_error"] == pytest.approx(shares, abs=1e-9)
            rates = {"test_error": errors / split[1].size, "training_error": training / split[0].size}
            found.append({**expected, **rates})
        return found

    def follow(self, entry, params, split, role, number):
        """Return which test rows are wrong, how many, and how many training rows, after each epoch."""
        train, test = split
        random = oracle.seeds.generator(self.seed, "rows", f"{role} epochs", number)
        learner, found = self.start(entry, params), []
        for _ in range(self.experiment.get("epochs")):
            for i in train[random.permutation(train.size)]:
                learner.begin()
                learner.learn(self.X[i], self.y[i])
            wrong = [[learner.test(self.X[i]) != (self.y[i] > 0) for i in rows] for rows in (test, train)]
            found.append((wrong[0], int(sum(wrong[0])), int(sum(wrong[1]))))
        return found

    def score_folds(self, entry, fixed, grid, split, role, number):
        candidates = [{**fixed, **values} for values in oracle.products(grid)]
        return np.array([
            [errors for _, errors, _ in self.follow(entry, each, split, role, number)] for each in candidates
        ])  # fmt: skip


def pick(table, grid, ties):
    places = np.argwhere(table == table.min()).tolist()
    row, column = places[{"first": 0, "last": -1, "middle": len(places) // 2}[ties]]
    return {**oracle.products(grid)[row], "epochs": column + 1}


def compare(record, expected, entry=None):
    """Compare numbers, or columns of numbers, by name: counts exactly."""
    for name, value in expected.items():
        assert name in record, f"{name} is missing"
        is_count = isinstance(value, int) or (isinstance(value, list) and isinstance(value[0], int))
        wanted = value if is_count or value is None else pytest.approx(value, rel=1e-6, abs=1e-9)
        if isinstance(value, list) and None in value:
            for got, each in zip(record[name], value, strict=True):
                compare({name: got}, {name: each}, entry)
            continue
        assert record[name] == wanted, f"{name} is {record[name]}, not {value}: {entry}"


def compare_report(folder, rows, ranked):
    """Compare the printed means and standard deviations with the expected values."""
    if all(trial[ranked] is None for trials in rows.values() for trial in trials):
        return  # nothing ranks the algorithms, which the report refuses
    printed = json.loads(command("report", folder, "--format", "json"))["rows"]
    assert sorted(row["algorithm"] for row in printed) == sorted(rows)
    for row in printed:
        trials = rows[row["algorithm"]]
        for name, cell in row.items():
            if not isinstance(cell, dict) or set(cell) != {"mean", "std"} or name == "seconds":
                continue
            values = [trial[name] for trial in trials]
            if None in values:
                assert cell["mean"] is None, f"{name} is {cell['mean']}, and undefined in a trial"
                continue
            assert cell["mean"] == pytest.approx(np.mean(values), rel=1e-6, abs=1e-9), name
            if len(values) > 1:
                # Each value is right to a millionth, so their spread is right to that of the largest.
                spread = pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-6 * np.max(np.abs(values)))
                assert cell["std"] == spread, name


def compare_estimator(experiment, entry):
    """Compare the predictions of the scikit-learn estimator after one pass in the order of the file."""
    known = {each.algorithm_id: each for each in ESTIMATORS.values()}
    if entry["id"] not in known:
        return
    values = {name: values[0] for name, values in entry.get("grid", {}).items()} | entry.get("params", {})
    taken = known[entry["id"]]().get_params()
    options = {name: value for name, value in entry.items() if name in taken}
    X = sp.csr_matrix(experiment.X) if experiment.form == "libsvm" else experiment.X
    y, rows, expected = experiment.targets, experiment.X.astype(reference.L), Expected(experiment)
    made = known[entry["id"]](**values, **options).partial_fit(X, y, classes=np.unique(y))
    learner = expected.start(entry, values)
    for x, label in zip(rows, y, strict=True):
        learner.learn(x, label)
    wanted = np.array([learner.test(x) for x in rows], float)
    np.testing.assert_array_equal(made.predict(X), wanted if expected.classes else 2 * wanted - 1, str(entry))
    if not expected.classes and hasattr(made, "predict_proba"):
        shares = [learner.look(x)[2] for x in rows]
        if entry["id"] != "sop":
            np.testing.assert_allclose(made.predict_proba(X)[:, 1], shares, 1e-6, 1e-9, err_msg=str(entry))


def run_experiment(experiment, folder):
    """Run an experiment with the drawn operations; compare every record and the report."""
    path, out = folder / "config.yaml", folder / "out"
    config = {**experiment.config, "plugins": [str(PLUGIN)], "datasets": [write_data(folder, experiment)]}
    path.write_text(yaml.safe_dump(config))
    if experiment.is_too_short:
        command("run", path, "--out", out, expects=2)
        assert not out.exists()
        return
    if "edited" in experiment.deeds:  # the file had other rows when it was read first
        write_data(folder, replace(experiment, X=experiment.X[::-1]))
        command("run", path, "--out", folder / "before", "--jobs", 1, "--quiet")
        write_data(folder, experiment)
    if "estimated" in experiment.deeds:
        for entry in experiment.get("algorithms"):
            compare_estimator(experiment, entry)
    exclusive = ["--timing", "exclusive"] if "exclusive" in experiment.deeds else []
    run = ["run", path, "--out", out, "--jobs", experiment.jobs, "--quiet", *exclusive]
    run += ["--cluster", "local:2"] if "cluster" in experiment.deeds else []
    with mock.patch.object(online, "BLOCK_BYTES", experiment.block):
        if "reused" in experiment.deeds:  # trials of the first algorithm come from another folder
            part = {**config, "algorithms": config["algorithms"][:1]}
            (folder / "part.yaml").write_text(yaml.safe_dump(part))
            command("run", folder / "part.yaml", "--out", folder / "part", "--jobs", 1, "--quiet")
            run += ["--reuse", folder / "part"]
        command(*run)
        if "killed" in experiment.deeds:
            ledger = out / "trials.jsonl"
            text = ledger.read_bytes()
            ledger.write_bytes(text[: len(text) // 2])
            command(*run)
        if "repeated" in experiment.deeds:
            text = (out / "trials.jsonl").read_bytes()
            command(*run)
            assert (out / "trials.jsonl").read_bytes() == text, "a second run adds nothing"
        expected = Expected(experiment, out)
        rows, ranked = expected.check(), expected.ranked
        compare_report(out, rows, ranked)
        if "verified" in experiment.deeds:
            command("verify", out, "--trials", 3, "--jobs", 1)
            command("verify", out, "--trial", read_records(out)[-1]["key"])
        if "bundled" in experiment.deeds:
            command("bundle", out, "--output", folder / "run.olb")
            compare_report(folder / "run.olb", rows, ranked)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return a function that makes a folder; the cache is a folder of this module."""
    numbers, base = itertools.count(), tmp_path_factory.mktemp("crossings")
    with mock.patch.dict(os.environ, {"OLBENCH_CACHE": str(base / "cache")}):
        yield lambda: tmp_path_factory.mktemp(f"run{next(numbers)}")
    if LONG:
        print("\nhow often options met:")
        for (one, other), times in sorted(MET.items(), key=lambda item: -item[1]):
            print(f"{times:6} {one} x {other}")


@settings(max_examples=5000 if LONG else 300)  # a third of them differ in their options
@given(experiment=experiments())
def test_every_number_of_a_run_is_that_of_the_oracle(experiment, folders):
    facts = experiment.facts()
    if (mark := str(facts)) in SEEN:
        return  # Hypothesis often varies an earlier draw
    note(json.dumps(experiment.config))
    try:
        run_experiment(experiment, folders())
    except reference.UnderflowError:
        reject()
    SEEN.add(mark)
    MET.update(itertools.combinations(facts, 2))
