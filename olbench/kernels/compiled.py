"""One loop for learners that are more than a rule: two functions over named arrays of their own.

The functions become part of the loop, which is compiled once for each learner and kept on disk under a name
that has a hash of its source. What users write is as fast as what ships if they leave sums to `dot`, `add`
and `project`: the compiler may not reorder a sum by itself.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, cast

from numba import int64, types, void

from olbench.kernels import matrix as matrix_kernels
from olbench.kernels import rows as row_kernels
from olbench.kernels.compile import READ_1D, READ_INT64, ROWS, WRITE_1D, WRITE_2D, WRITE_INT64, LazyKernel
from olbench.kernels.counters import ONLY_LEARN, ONLY_PREDICT
from olbench.kernels.first_order import add_row
from olbench.kernels.helpers import Helper, inlined
from olbench.kernels.margins import (
    MARGIN,
    count_breakdown,
    count_by_group,
    is_usable,
    judge,
    keep,
    read_counts,
    write_counts,
)
from olbench.kernels.rows import open_rows, read_round

#: The types of arrays by their declared shapes.
SHAPES = {"d": WRITE_1D, "d x d": WRITE_2D, "1": WRITE_1D}


@inlined
def dot(vector, columns, values):
    return row_kernels.dot(vector, columns, 0, values, 0, values.size)


@inlined
def add(vector, columns, values, step):
    add_row(vector, step, columns, 0, values, 0, values.size)


@inlined
def project(matrix, columns, values, target):
    matrix_kernels.project(matrix, columns, 0, values, 0, values.size, target)


# What a learner brings; `bind` puts it into copies of the functions below.
Arrays: Any = None
score: Any = None
learn: Any = None


@inlined
def predict_row(arrays, columns, a, values, o, n, t, p):
    return score(Arrays(*arrays), columns[a : a + n], values[o : o + n], t, p)


@inlined
def learn_row(arrays, columns, a, values, o, n, y, t, p):
    return learn(Arrays(*arrays), columns[a : a + n], values[o : o + n], y, t, p)


def run(_, p, rows, y, order, arrays, counters, margins):
    """Run the examples of `order`; t counts the examples learnt, including the next one."""
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    # The counts stay in registers.
    rounds, unlearned, updates, effective = read_counts(counters)
    positives = 0
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        t = rounds - unlearned + 1
        f = predict_row(arrays, columns, at, values, o, n, t, p)
        if entry < ONLY_LEARN:
            rounds += 1
            keep(margins, entry, rounds, MARGIN, f)
            positives += y[i] > 0.0
            count_by_group(counters, entry, judge(f, y[i])[0], 2, y[i] > 0.0)
            unlearned += entry >= ONLY_PREDICT
            if entry >= ONLY_PREDICT:
                continue
        else:
            unlearned -= 1
        if not is_usable(f, n, norms[i]):
            count_breakdown(counters, entry, rounds)
            continue
        found = learn_row(arrays, columns, at, values, o, n, y[i], t, p)
        updates += found > 0
        effective += found > 1
    write_counts(counters, rounds, unlearned, updates, effective, positives)


def bind(
    name: str,
    shapes: Mapping[str, str],
    functions: Mapping[str, Callable[..., Any]],
    is_kept: bool,
    **how: bool,
) -> LazyKernel:
    """Return the loop of a learner, whose `score` and `learn` are compiled as `how` says.

    With `is_kept`, its code is found on disk under this name.
    """
    scope = {
        **globals(),
        "Arrays": namedtuple("Arrays", shapes),
        **{each: inlined(function, **how) for each, function in functions.items()},
    }
    for part in (predict_row, learn_row):
        code = cast(Helper, part).py_func.__code__
        scope[code.co_name] = inlined(FunctionType(code, scope))
    # Numba keeps nothing of a function without a file.
    code = run.__code__ if is_kept else run.__code__.replace(co_filename="<learner>")
    loop = FunctionType(code, scope, name)
    loop.__qualname__ = name
    arrays = types.Tuple([SHAPES[shape] for shape in shapes.values()])
    state = (arrays, WRITE_INT64, WRITE_2D)
    return LazyKernel(loop, void(int64, READ_1D, ROWS, READ_1D, READ_INT64, *state))
