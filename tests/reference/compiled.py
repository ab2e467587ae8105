"""The reference in C: long passes in extended precision, with a second way to evaluate each of them."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
import scipy.sparse as sp

SOURCE = Path(__file__).with_name("passes.c")
#: How the numbers are called in C, and in NumPy.
TYPES = {"long double": np.longdouble, "double": np.float64}
#: The state that a pass keeps, in the order of the enum in C.
FAMILIES = ("first", "full", "root", "kl", "l2", "exact", "product")
#: The words among the parameters, as the numbers that C has for them.
WORDS = {"hinge": 0, "logistic": 1, "squared": 2, "zero-one": 3, "sqrt": 0, "inverse": 1}
#: Above this many features a covariance has no second form: a round of the root costs d^2.
SMALL = 32


def find_compiler():
    names = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@cache
def load_library(real="long double"):
    """Compile passes.c for numbers of this type; None if there is no compiler."""
    compiler = find_compiler()
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "passes.so")
        # No -ffast-math: sums must be taken in the order that is written.
        flags = ["-O2", "-std=c11", "-ffp-contract=off", "-fPIC", "-shared", f"-DREAL={real}"]
        subprocess.run([compiler, *flags, str(SOURCE), "-o", str(target), "-lm"], check=True)
        return ctypes.CDLL(str(target))


@dataclass(frozen=True)
class Data:
    """Examples as the reference reads them: the entries that are not zero, row by row."""

    name: str
    X: object
    y: np.ndarray
    rows: tuple = field(init=False)

    def __post_init__(self):
        rows = sp.csr_matrix(self.X, copy=True)
        rows.eliminate_zeros()
        arrays = rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64), self.y
        object.__setattr__(self, "rows", tuple(np.ascontiguousarray(array) for array in arrays))

    @property
    def entries(self):
        """The entries that are not zero, per row."""
        return self.rows[0].size / max(1, self.y.size)


@dataclass(frozen=True)
class Pass:
    """What a pass counted.

    For each round `bits` has 1 for a mistake, plus 2 for an update, plus 4 for a score that is zero but for
    rounding.
    """

    counts: tuple
    bits: np.ndarray
    weights: np.ndarray


def run(id, params, family, data, order, advice=None, other=False, real="long double"):
    """Run one pass in C; `other` asks for the second way to evaluate it."""
    number, library = TYPES[real], load_library(real)
    order = np.ascontiguousarray(order, np.int64)
    p = np.array([find_constant(name, value, family) for name, value in params.items()] or [0.0], number)
    bits, counts = np.empty(order.size, np.uint8), np.zeros(3, np.int64)
    weights = np.zeros(data.X.shape[1], number)
    shape = ctypes.c_int64(order.size), ctypes.c_int64(weights.size)
    results = map(point, (bits, counts, weights))
    inputs = [*map(point, (*data.rows, order))]
    if family == "advice":
        sets = pack(advice)
        size = ctypes.c_int64(sets[-1].size)
        code = library.run_advice(
            id.encode(), int(other), point(p), *shape, *inputs, size, *map(point, sets), *results
        )
    else:
        code = library.run_pass(
            id.encode(), FAMILIES.index(family), int(other), point(p), *shape, *inputs, *results
        )
    if code != 0:
        raise ValueError(f"the reference has no {id}")
    return Pass(tuple(counts.tolist()), bits, weights)


def run_twice(id, params, family, data, order, advice=None):
    """Run a pass in both ways; return both.

    CW shrinks Sigma without bound, which only its root survives. The other rules are regularised: Sigma
    itself is the first way, and where it is small the root is the second.
    """
    ways = (family, family)
    if family == "full":
        ways = ("root", "root") if id in ("cw", "cw-var") else ("full", "root")
        if ways[0] == "full" and data.X.shape[1] > SMALL:
            ways = ("full", "full")
    return [
        run(id, params, way, data, order, advice, other)
        for way, other in zip(ways, (False, True), strict=True)
    ]


def find_parting(one, two):
    """Return the first round, counted from 1, with another prediction or update; 0 if all are equal."""
    apart = np.flatnonzero((one.bits ^ two.bits) & 3)
    return int(apart[0]) + 1 if apart.size else 0


def find_error(weights, exact, exponent=0):
    """Return the relative error of weights that are scaled by 2 ** exponent."""
    exact = exact.astype(np.longdouble)
    length = np.sqrt(np.sum(exact**2))
    apart = np.sqrt(np.sum((np.ldexp(weights.astype(np.longdouble), -exponent) - exact) ** 2))
    return float(apart / length) if length > 0 else float(apart)


def find_constant(name, value, family):
    if name == "eta" and family != "first":  # the confidence of cw and its kin, not the size of a step
        return NormalDist().inv_cdf(value)
    return WORDS.get(value, 0) if isinstance(value, str) else value


def pack(advice):
    sets = tuple(advice or ())
    starts = np.cumsum([0, *(each.d.size for each in sets)]).astype(np.int64)
    D = np.vstack([each.D for each in sets]) if sets else np.zeros(0)
    bounds = np.concatenate([each.d for each in sets]) if sets else np.zeros(0)
    return starts, np.ascontiguousarray(D), bounds, np.array([each.z for each in sets], np.float64)


def point(array):
    return ctypes.c_void_p(array.ctypes.data)
