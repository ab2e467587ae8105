"""How an algorithm behaves, as a hash: what the key of a trial has in place of a version of the code.

The hash is of the counts and the weights, to nine digits, of a few fixed passes, and of a user's own file,
remembered on disk under a hash of all sources; `SHIPPED`, written by `make behaviours`, saves the first run.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_matrix

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import make_algorithm
from olbench.algorithms.definition import Definition
from olbench.errors import UserError
from olbench.files import cache_folder, write_text
from olbench.learners.contestants import BatchLearner
from olbench.learners.examples import Examples, Floats, as_examples
from olbench.learners.own_rules import run_rule
from olbench.learners.passes import online_pass
from olbench.records import seeds

PACKAGE = Path(__file__).resolve().parent.parent
#: What can change the result of a pass; everything else only plans, stores or prints.
DECIDING = (
    "kernels", "algorithms", "papers/adviceptron2010", "papers/libol2013", "learners", "records/seeds.py",
    "protocols/behaviour.py",
)  # fmt: skip
COMPILERS = ("numpy", "numba", "llvmlite")
SHIPPED = Path(__file__).with_name("behaviours.json")
ROUNDS = 400
DIGITS = 9
ADVISED_ROUNDS = 60
SOLVER_DIGITS = 4


@cache
def source_hash(algorithm: str) -> str:
    return _digest(*_deciding_files(), *_own_file(get_definition(algorithm)))


def behaviour(algorithm: str, options: Mapping[str, Any]) -> str:
    return _remembered(algorithm, json.dumps(dict(options), sort_keys=True))


def forget() -> None:
    source_hash.cache_clear()
    _remembered.cache_clear()


def is_observed(algorithm: str, options: Mapping[str, Any]) -> bool:
    words = json.dumps(dict(options), sort_keys=True)
    return bool(_shipped(algorithm, words)) or _place_of(algorithm, words).is_file()


def ship(algorithms: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    seen = {(id, json.dumps(dict(options), sort_keys=True)) for id, options in algorithms}
    found = {f"{id} {options}": _observe(id, json.loads(options)) for id, options in sorted(seen)}
    known = {"sources": _digest(*_deciding_files()), "compilers": _versions(), "behaviours": found}
    write_text(SHIPPED, json.dumps(known, indent=1) + "\n")


def _shipped(algorithm: str, options: str) -> str | None:
    known = _read_shipped()
    if known.get("sources") != source_hash(algorithm) or known["compilers"] != _versions():
        return None
    return cast("str | None", known["behaviours"].get(f"{algorithm} {options}"))


@cache
def _read_shipped() -> dict[str, Any]:
    try:
        return cast(dict[str, Any], json.loads(SHIPPED.read_text(encoding="utf-8")))
    except OSError:
        return {}


@cache
def _versions() -> dict[str, str]:
    return {compiler: version(compiler) for compiler in COMPILERS}


def _place_of(algorithm: str, options: str) -> Path:
    sources = json.dumps([source_hash(algorithm), *_versions().values()])
    return cache_folder() / "behaviour" / f"{_hash(sources, algorithm, options)}.json"


@cache
def _remembered(algorithm: str, options: str) -> str:
    if known := _shipped(algorithm, options):
        return known
    memo = _place_of(algorithm, options)
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads(memo.read_text(encoding="utf-8"))["behaviour"])
    found = _observe(algorithm, json.loads(options))
    with suppress(UserError):  # without a cache it is found out again
        write_text(memo, json.dumps({"algorithm": algorithm, "options": options, "behaviour": found}))
    return found


def _observe(algorithm: str, options: Mapping[str, Any]) -> str:
    definition = get_definition(algorithm)
    own = _digest(*_own_file(definition))
    if "advice" in definition.takes and not definition.online:
        return _hash(json.dumps([_fit_with_advice(definition, params) for params in _settings(definition)]))
    # A Python object may draw random numbers of its own, so that its passes prove nothing.
    if definition.rule is None:
        if definition.order == "object":
            return _hash(own, "non-zero features" if definition.sparse else "all features")
        return own if _own_file(definition) else _hash(definition.id, version("scikit-learn"))
    # Without a compiler nothing can be observed, and nothing may be remembered.
    import_module("olbench.kernels.compile")
    try:
        passes = run_rule(definition, partial(_probe_all, definition, options))
    except Exception as error:
        # What is wrong with the form of a rule is known before the first trial.
        if isinstance(error, UserError) and _own_file(definition):
            raise
        # The trials of a rule that does not compile or run will fail and say why.
        return _hash(own, type(error).__name__)
    return _hash(json.dumps(passes), own if _own_file(definition) else "")


def _probe_all(definition: Definition, options: Mapping[str, Any]) -> list[Any]:
    passes = [_probe(definition, params, options) for params in _settings(definition)]
    if "advice" in definition.takes:
        passes += [_probe_with_advice(definition, params) for params in _advised_settings(definition)]
    return passes


def _settings(definition: Definition) -> Iterator[dict[str, Any]]:
    yield {}
    for name, values in definition.grid.items():
        yield {name: values[0]}
        yield {name: values[-1]}


def _probe(definition: Definition, params: Mapping[str, Any], options: Mapping[str, Any]) -> list[Any]:
    algorithm = make_algorithm(definition.id, **params, **options)
    seen: list[Any] = []
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


def _advised_settings(definition: Definition) -> Iterator[dict[str, Any]]:
    yield from _settings(definition)
    for parameter in definition.parameters:
        yield from ({parameter.name: word} for word in parameter.choices or ())


def _probe_with_advice(definition: Definition, params: Mapping[str, Any]) -> list[Any]:
    """Run a pass with rules. A start at the advice comes from a solver, which is right to fewer digits."""
    examples, labels, advice = _advised_probe()
    algorithm = make_algorithm(definition.id, **params, advice=advice)
    result = online_pass(algorithm, examples, labels, np.arange(examples.n))
    digits = SOLVER_DIGITS if params.get("start") == "advice" else DIGITS
    return [result.mistakes, result.updates, *_project(result.weights, digits)]


def _fit_with_advice(definition: Definition, params: Mapping[str, Any]) -> list[str]:
    examples, labels, advice = _advised_probe()
    learner = BatchLearner(make_algorithm(definition.id, **params, advice=advice))
    return _project(learner.fit(examples.rows(), labels).model.coef_, SOLVER_DIGITS)


@cache
def _advised_probe() -> tuple[Examples, Floats, Any]:
    """Return examples with a constant feature and rules: some bind, some repeat others, some contradict."""
    from olbench.papers.adviceptron2010.sets import Advice, AdviceSet

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


def _project(weights: Floats, digits: int = DIGITS) -> list[str]:
    """Return the norm of the weights and their products with two fixed vectors, to some digits.

    A few numbers stand for all weights: each is another chance that rounding noise far below the last digit
    tips it over, and there may be thousands of weights.
    """
    numbers = np.arange(weights.size)
    products = (weights @ np.cos(numbers), weights @ np.sin(numbers), np.sqrt(weights @ weights))
    return [f"{product:.{digits - 1}e}" for product in products]


@cache
def _probes() -> dict[str, tuple[Examples, Floats]]:
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
def _coin_probe() -> dict[str, tuple[Examples, Floats]]:
    """Return examples whose labels are those of a coin, for rules that read the norm of the weights.

    ROMMA's weights grow to a length of 1e9 on them, and each step multiplies an error of the norm: within 400
    rounds, a norm that is carried along without being summed again has no digit left.
    """
    random = np.random.default_rng(1999)
    X = random.standard_normal((ROUNDS, 8))
    return {"coin": (as_examples(X), np.where(random.random(ROUNDS) < 0.5, 1.0, -1.0))}


def _own_file(definition: Definition) -> tuple[Path, ...]:
    code = getattr(definition.rule or definition.factory, "__code__", None)
    path = Path(code.co_filename) if code else None
    return (path,) if path and PACKAGE not in path.parents and path.is_file() else ()


@cache
def _deciding_files() -> tuple[Path, ...]:
    roots = [path for name in DECIDING if (path := PACKAGE / name).exists()]
    return tuple(path for root in roots for path in (sorted(root.rglob("*.py")) if root.is_dir() else [root]))


def _digest(*files: Path) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
