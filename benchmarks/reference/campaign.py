"""Compare every algorithm with the reference in C on every data set in full length.

`make reference`, or `python -m benchmarks.reference --datasets ijcnn1 --algorithms romma --orders 3`. One
line per pass goes to the record; a pass that it has is not run again. With --page the record is packed and
written to docs/tables/correctness.md. Exits with 1 if a pass differs for no other reason than our code.
"""

import argparse
import hashlib
import itertools
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.reference import page
from olbench.algorithms import get_definition
from olbench.data.catalog import catalog, find
from olbench.data.load import load_dataset
from olbench.errors import UserError
from olbench.papers.adviceptron2010.names import load_named
from olbench.papers.adviceptron2010.rules import read_rules
from olbench.records.provenance import machine
from tests.examples import built_in
from tests.reference import compiled
from tests.reference.comparison import compare, make

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "results/correctness/passes.jsonl"
#: Settings beside the defaults, at which the losses are larger or Sigma shrinks faster.
HARD = {
    "margin-perceptron": {"margin": 3.0}, "pa1": {"C": 0.0625}, "pa2": {"C": 16.0},
    "averaged-pa1": {"C": 0.0625}, "ogd": {"loss": "logistic"}, "sgd": {"lam": 0.01, "step": "inverse"},
    "cw": {"eta": 0.95},
    "cw-var": {"eta": 0.95}, "arow": {"r": 0.0625}, "nherd": {"C": 16.0}, "narow": {"b": 16.0},
    "narow2010": {"b": 16.0}, "scw1": {"C": 16.0, "eta": 0.95}, "scw2": {"C": 16.0, "eta": 0.95},
    "scw2-libol": {"C": 16.0, "eta": 0.95}, "adagrad-da": {"lam": 0.001}, "ftrl": {"alpha": 1.0, "l2": 1.0},
    "tg": {"gravity": 0.01, "K": 3.5}, "fobos": {"eta": 1.0, "lam": 0.0001}, "rda": {"gamma": 10.0},
}  # fmt: skip
#: The data sets with rules that the learners which take advice run on.
WITH_RULES = ("advice-synthetic", "pima", "tb-east-asian")
#: A full covariance is left out above this many features,
WIDEST = 1000
#: and has one order instead of all, and no hard setting, if rounds * features^2 is above this,
MANY_PRODUCTS = 4e8
#: and sop-libol, which changes Sigma in every round, none at all above this;
TOO_MANY_PRODUCTS = 2e9
#: all others have one order if rounds * features is above this.
MANY_ENTRIES = 2.5e7
#: Above this, rules that read or write all weights in a round, in plain loops, are left out,
TOO_MANY_ENTRIES = 1e9
ALL_WEIGHTS = (
    "romma", "aromma", "alma", "sgd", "averaged-perceptron", "averaged-pa", "averaged-pa1", "adagrad-da",
    "tg", "fobos", "rda",
)  # fmt: skip
#: and above this the whole data set.
LARGEST = 2e11
#: A learner in the space of a kernel is left out if rounds * support^2 is above this.
MANY_SUPPORTED = 3e9


def main():
    options = parse()
    if compiled.load_library() is None:
        sys.exit("the reference needs a C compiler, and none was found")
    record = Record(options.record)
    compare_all(options, record)
    if options.page:
        page.publish(record.head, record.lines)
    differing = [line for line in record.lines if line["outcome"] == "differs"]
    ours = [line for line in differing if page.find_reason(line) == page.OURS]
    for line in ours:
        print(f"a difference of ours alone: {json.dumps(line)}")
    return int(bool(ours))


def compare_all(options, record):
    started = time.monotonic()
    for name in options.datasets:
        try:
            data = load(name)
        except UserError as error:
            print(f"{name}: {error}", flush=True)
            continue
        begun, before = time.monotonic(), len(record.lines)
        for work in plan(data, options):
            if time.monotonic() - started > options.seconds:
                print("time is over; run it again to go on")
                return
            record.add(run(work, data, record))
        print(
            f"{time.monotonic() - started:6,.0f} s  {name}: {len(record.lines) - before:,} passes in "
            f"{time.monotonic() - begun:.1f} s; in all {page.summarise(record.lines)}",
            flush=True,
        )


def parse():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reference", description=__doc__)
    listed = {"type": lambda text: text.split(",")}
    by_size = sorted(
        catalog().values(), key=lambda entry: entry.rows * max(20, min(1000, entry.features)) ** 2
    )
    parser.add_argument(
        "--datasets", default=[entry.name for entry in by_size], help="comma-separated names", **listed
    )
    parser.add_argument(
        "--algorithms", default=[each.id for each in built_in()], help="comma-separated ids", **listed
    )
    parser.add_argument("--orders", type=int, default=3, help="how many orders")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so many seconds")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file with one line per pass")
    parser.add_argument(
        "--page", action="store_true", help="pack the record, write docs/tables/correctness.md"
    )
    return parser.parse_args()


class Record:
    """The passes so far, one JSON line each, after a line that names the code and the machine."""

    def __init__(self, path):
        self.path, self.lines = path, []
        self.head = {"sources": digest_sources(), "processor": machine()["processor"]}
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            head, *lines = map(json.loads, path.read_text().splitlines())
            if head == self.head:
                self.lines = lines
                self.known = {key(line) for line in lines}
                return
            print(f"{path.name} comes from other code or another machine: starting from scratch")
        path.write_text(json.dumps(self.head) + "\n")
        self.known = set()

    def add(self, lines):
        with self.path.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        self.lines += lines
        self.known |= {key(line) for line in lines}


def key(line):
    return tuple(str(line[name]) for name in ("dataset", "algorithm", "params", "option", "order"))


def digest_sources():
    """Return a hash of the versions of all algorithms, and of the reference.

    Code that moves or becomes faster leaves a record as it is; code that counts otherwise does not.
    """
    digest = hashlib.sha256(compiled.SOURCE.read_bytes())
    for definition in built_in():
        digest.update(f"{definition.id} {definition.version}".encode())
    return digest.hexdigest()[:16]


def load(name):
    """Return the examples of a data set; what is not downloaded yet comes from the mirror."""
    entry = find(name)
    if entry.rows * entry.features > LARGEST:
        raise UserError("left out, as it is too large for plain loops")
    data = load_dataset(name)
    return compiled.Data(name, data.X, data.y)


def plan(data, options):
    """Yield (id, params, state of the reference, options of ours, number of the order, advice)."""
    n, d = data.X.shape
    for id, hard in itertools.product(options.algorithms, (False, True)):
        if hard and id not in HARD:
            continue
        for family, choices in find_families(get_definition(id), data).items():
            large = n * d * d > MANY_PRODUCTS if family == "full" else n * d > MANY_ENTRIES
            if (family == "full" and d > WIDEST) or (hard and large):
                continue
            if family == "full" and id == "sop-libol" and n * d * d > TOO_MANY_PRODUCTS:
                continue
            if id in ALL_WEIGHTS and n * d > TOO_MANY_ENTRIES:
                continue
            for k in range(1 if large or hard else options.orders):
                yield id, HARD[id] if hard else {}, family, choices, k


def find_families(definition, data):
    if definition.order in ("first", "compiled"):
        return {"first": [{}]}
    if definition.order == "advice":
        return {"advice": [{}, {"advice": True}]} if data.name in WITH_RULES else {}
    full = [{"form": "covariance"}, {"form": "root"}, {"kernel": "linear"}]
    if any(parameter.name == "gamma" for parameter in definition.parameters):  # also a kernel's
        full.pop()
    if definition.product:
        return {"full": full, "product": [{"covariance": "diag"}]}
    diagonal = {name: [{"covariance": "diag", "projection": name}] for name in definition.projections}
    return {"full": full, **diagonal}


def run(work, data, record):
    """Run a pass of the reference in both ways, and all of ours that it stands for; return their lines."""
    id, params, family, choices, k = work
    resolved = get_definition(id).resolve(params)
    lines = [describe(data, id, params, choice, k) for choice in choices]
    lines = [line for line in lines if key(line) not in record.known]
    if not lines:
        return []
    order = np.random.default_rng(k).permutation(data.y.size)
    found = []
    for advised, group in itertools.groupby(lines, lambda line: line["option"] == "advice"):
        examples, advice = advise(data, advised) if family == "advice" else (data, None)
        first, second = compiled.run_twice(id, resolved, family, examples, order, advice)
        for line in group:
            # sop-libol changes Sigma in every round
            support = order.size if id == "sop-libol" else first.counts[1]
            if line["option"] == "kernel=linear" and order.size * support**2 > MANY_SUPPORTED:
                continue
            choice = next(each for each in choices if name_option(each) == line["option"])
            ours = make(id, params, {} if family == "advice" else choice, advice)
            line |= judge(ours, examples, order, first, second)
            if line["outcome"] == "differs":
                line["plain"] = try_doubles(id, resolved, family, choice, examples, order, first, advice)
            found.append(line)
    return found


def describe(data, id, params, choice, k):
    n, d = data.X.shape
    settings = " ".join(f"{name}={value}" for name, value in params.items())
    described = {"dataset": data.name, "rounds": n, "features": d, "algorithm": id, "params": settings}
    return described | {"option": name_option(choice), "order": k}


def name_option(choice):
    if "advice" in choice:
        return "advice"
    words = [
        value if name in ("covariance", "projection") else f"{name}={value}" for name, value in choice.items()
    ]
    return " ".join(words)


def judge(ours, data, order, first, second):
    """Return what a pass of ours counted, and whether that is what both ways of the reference counted."""
    counts, parted, error = compare(ours, data, order, first)
    unstable = compiled.find_parting(first, second)
    at = unstable or parted
    equal = parted == 0 and counts == first.counts and error <= page.CLOSE
    return {
        "reference": first.counts, "ours": counts, "unstable_from": unstable, "parted": parted,
        "error": float(f"{error:.2g}"), "tie": bool(at and first.bits[at - 1] & 4),
        "outcome": "unstable" if unstable else "equal" if equal else "differs",
    }  # fmt: skip


def try_doubles(id, params, family, choice, data, order, exact, advice):
    """Return the rounds in which plain loops in doubles part from the reference, and their errors."""
    way = family if family != "full" else "root" if choice.get("form") == "root" else "full"
    passes = [compiled.run(id, params, way, data, order, advice, other, "double") for other in (False, True)]
    return [
        [compiled.find_parting(each, exact), float(f"{compiled.find_error(each.weights, exact.weights):.2g}")]
        for each in passes
    ]


def advise(data, with_rules):
    """Return the examples with each feature scaled to mean 0 and deviation 1, and the rules for them."""
    named = load_named(data.name)
    mean, scale = data.X.mean(axis=0), data.X.std(axis=0)
    scale[scale == 0.0] = 1.0
    advice = replace(read_rules(data.name), domain=False).compile(named.names).transform(mean, scale)
    return compiled.Data(data.name, (data.X - mean) / scale, data.y), advice if with_rules else None
