"""What every algorithm that ships does on a few fixed passes, as digests in behaviours.json.

    make behaviours

A trial is reused as long as its algorithm has the same version. So a digest may change only with the version
of its algorithm, which the file has beside it. A digest covers the counts of the passes and their weights to
nine digits, so that a faster kernel keeps it.
"""

import hashlib
import json
import sys
from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from olbench.algorithms import definitions, get_definition
from olbench.algorithms.algorithm import list_ways, make_algorithm
from olbench.errors import UserError
from olbench.files import write_text
from olbench.learners.contestants import BatchLearner
from olbench.learners.examples import as_examples
from olbench.learners.passes import online_pass
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet
from olbench.records import seeds

FILE = Path(__file__).with_name("behaviours.json")
ROUNDS = 400
DIGITS = 9
ADVISED_ROUNDS = 60
SOLVER_DIGITS = 4


def list_probed():
    """Return what ships and can be probed, which a batch learner of another library cannot."""
    return [each for each in definitions() if not each.is_own and (each.rule is not None or each.takes)]


def list_forms(definition):
    """Return the options of every form of an algorithm, the default first."""
    if definition.order not in ("first", "second"):
        return [{}]
    ways = [way for each in list_ways(definition) for way in _combine(each)]
    words = [{each.name: word} for each in definition.parameters for word in each.choices]
    made = {}
    for options in ({}, *ways, *({**way, "forgetting": 0.99} for way in ways), *words):
        with suppress(UserError):
            made.setdefault(repr(make_algorithm(definition.id, **options)), options)
    return list(made.values())


def _combine(way):
    return [dict(zip(way, values, strict=True)) for values in product(*way.values())]


def read_recorded():
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def find_unversioned(recorded, found):
    """Yield a sentence for each algorithm that has changed and kept its version."""
    for id, (version, digests) in found.items():
        old_version, old_digests = recorded.get(id, (0, {}))
        changed = [form for form, digest in digests.items() if old_digests.get(form, digest) != digest]
        if changed and version == old_version:
            yield (
                f"{id} counts differently now ({'; '.join(changed)}): set its version to {version + 1} in "
                f"{get_definition(id).file}, then run `make behaviours`"
            )


def observe(definition, forms):
    """Return the version of an algorithm, and the digests of some of its forms by their options."""
    return definition.version, {_name(form): _digest(definition, form) for form in forms}


def _name(form):
    return ", ".join(f"{name}={value}" for name, value in form.items()) or "default"


def _digest(definition, options):
    if definition.takes and not definition.online:
        passes = [_fit_with_advice(definition, params) for params in _settings(definition)]
    else:
        passes = [_probe(definition, params, options) for params in _settings(definition)]
    if definition.order == "advice":
        passes += [_probe_with_advice(definition, params) for params in _advised_settings(definition)]
    return hashlib.sha256(json.dumps(passes).encode()).hexdigest()[:16]


def _settings(definition):
    yield {}
    for name, values in definition.grid.items():
        yield {name: values[0]}
        yield {name: values[-1]}


def _probe(definition, params, options):
    algorithm = make_algorithm(definition.id, **params, **options)
    seen = []
    probes = _probes() | _coin_probe() if definition.reads_norm else _probes()
    for name, (examples, labels) in probes.items():
        order = seeds.order(0, name, "report", 0, seeds.ALL, examples.n)
        results = []
        if not definition.only_native:
            results.append(online_pass(algorithm, examples, labels, order, curve=3))
        if algorithm.multiclass == "native":
            # Six classes, three for each of the two.
            several = np.where(labels > 0.0, 3.0, 0.0) + np.arange(labels.size) % 3
            results.append(online_pass(algorithm, examples, several, order, curve=3, labels="all"))
        for result in results:
            counts = (result.mistakes, result.updates, result.effective_updates, result.breakdowns)
            seen += [*counts, *result.curve.mistakes.tolist(), *_project(result.weights.ravel())]
    return seen


def _advised_settings(definition):
    yield from _settings(definition)
    for parameter in definition.parameters:
        yield from ({parameter.name: word} for word in parameter.choices or ())


def _probe_with_advice(definition, params):
    """Run a pass with rules. A start at the advice comes from a solver, which is right to fewer digits."""
    examples, labels, advice = _advised_probe()
    algorithm = make_algorithm(definition.id, **params, advice=advice)
    result = online_pass(algorithm, examples, labels, np.arange(examples.n))
    digits = SOLVER_DIGITS if params.get("start") == "advice" else DIGITS
    return [result.mistakes, result.updates, *_project(result.weights, digits)]


def _fit_with_advice(definition, params):
    examples, labels, advice = _advised_probe()
    learner = BatchLearner(make_algorithm(definition.id, **params, advice=advice))
    return _project(learner.fit(examples.rows(), labels).model.coef_, SOLVER_DIGITS)


@cache
def _advised_probe():
    """Return examples with a constant feature and rules: some bind, some repeat others, some contradict."""
    random = np.random.default_rng(2010)
    X = random.standard_normal((ADVISED_ROUNDS, 6))
    labels = np.where(X[:, 0] + X[:, 1] + random.standard_normal(ADVISED_ROUNDS) >= 0.0, 1.0, -1.0)
    sets = (
        AdviceSet(-np.eye(6)[:2], np.array([-1.0, 0.5]), 1),
        AdviceSet(
            np.vstack([np.eye(6), -np.eye(6), np.eye(6)[:3]]), np.repeat([1.0, 0.5, -0.2], [6, 6, 3]), -1
        ),
        AdviceSet(random.standard_normal((3, 6)), np.array([0.3, -0.4, 1.0]), 1),
    )
    examples = as_examples(np.column_stack([X, np.ones(ADVISED_ROUNDS)]))
    return examples, labels, Advice(sets, 6).with_constant()


def _project(weights, digits=DIGITS):
    """Return the norm of the weights and their products with two fixed vectors, to some digits.

    A few numbers stand for all weights: each is another chance that rounding noise far below the last digit
    tips it over, and there may be thousands of weights.
    """
    if not np.abs(weights).max(initial=0.0) < 1e150:
        return ["diverged"]  # as OGD does with the squared loss; the norm would overflow
    numbers = np.arange(weights.size)
    products = (weights @ np.cos(numbers), weights @ np.sin(numbers), np.sqrt(weights @ weights))
    return [f"{product:.{digits - 1}e}" for product in products]


@cache
def _probes():
    """Return the examples of the probes: dense and sparse, with rows of zeros, narrow and wide, noisy labels.

    The wide ones reach the kernels' paths for large d; the scales of `dense` lie a million apart.
    """
    random = np.random.default_rng(2012)
    sparse = random.standard_normal((ROUNDS, 40)) * (random.random((ROUNDS, 40)) < 0.15)
    dense = random.standard_normal((ROUNDS, 9)) * 10.0 ** np.linspace(-3, 3, 9)
    wide = random.standard_normal((ROUNDS // 2, 133))
    found = {}
    for name, X in {"dense": dense, "sparse": sparse, "wide": wide}.items():
        margins = (X / X.std(axis=0)) @ random.standard_normal(X.shape[1])
        noise = 0.5 * margins.std() * random.standard_normal(X.shape[0])
        labels = np.where(margins + noise >= 0, 1.0, -1.0)
        X[::37] = 0.0
        found[name] = as_examples(csr_matrix(X) if name == "sparse" else X), labels
    return found


@cache
def _coin_probe():
    """Return examples whose labels are those of a coin, for rules that read the norm of the weights.

    ROMMA's weights grow to a length of 1e9 on them, and each step multiplies an error of the norm: within 400
    rounds, a norm that is carried along without being summed again has no digit left.
    """
    random = np.random.default_rng(1999)
    X = random.standard_normal((ROUNDS, 8))
    return {"coin": (as_examples(X), np.where(random.random(ROUNDS) < 0.5, 1.0, -1.0))}


def main():
    found = {each.id: observe(each, list_forms(each)) for each in list_probed()}
    if sentences := list(find_unversioned(read_recorded(), found)):
        sys.exit("\n".join(sentences))
    write_text(FILE, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
