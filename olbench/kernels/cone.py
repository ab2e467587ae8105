"""The step of u within its cone.

It minimises |u - old|^2 / 2 + mu / 2 (|D'u + z w|^2 + (1 + d'u)_+^2) over u >= 0. Coordinate descent from the
old u ends most steps of a pass within a few sweeps. Where inequalities nearly repeat each other and mu is
large it creeps: its error falls by 1 - 1 / (1 + mu |D|^2) a sweep. Newton's method on the dual then ends the
step. The dual has a variable for each entry of q = D'u + z w and one for the gap 1 + d'u, it has no
constraint, and u = (old - mu D q - mu d gap)_+. A Newton step is a linear system in the entries of u that are
positive, and once these stay the same the solution is exact.

Nothing here compiles on import. `room` holds q in its first d entries and `old` behind them.
"""

from typing import Any

import numpy as np

from olbench.kernels.advice_sets import add_row, product
from olbench.kernels.compile import helper

#: Sweeps before Newton's method is tried, and between two attempts.
PATIENCE = 4
#: Sweeps after which a step is left as it is; Newton's method ends all but contrived problems long before.
SWEEPS = 100_000
#: Newton steps of one attempt.
NEWTON_STEPS = 100
#: A slope below this share of its largest term is rounding.
FLAT = 1e-13


@helper
def descend(i: Any, sets: Any, mu: Any, w: Any, u: Any, room: Any) -> None:
    """Set the u of set i to the minimum, starting from what it is."""
    starts = sets[4]
    for j in range(starts[i], starts[i + 1]):
        room[w.size + j - starts[i]] = u[j]
    gap = refresh(i, sets, w, u, room)
    for sweep in range(1, SWEEPS + 1):
        gap, steepest = sweep_once(i, sets, mu, gap, w.size, u, room)
        if steepest <= FLAT:
            return
        if sweep % PATIENCE == 0 and finish(i, sets, mu, gap, w, u, room):
            return


@helper
def refresh(i: Any, sets: Any, w: Any, u: Any, room: Any) -> Any:
    """Set q to D'u + z w for the u of set i, and return 1 + d'u."""
    bounds, starts, signs = sets[3], sets[4], sets[5]
    for k in range(w.size):
        room[k] = signs[i] * w[k]
    gap = 1.0
    for j in range(starts[i], starts[i + 1]):
        if u[j] != 0.0:
            gap += bounds[j] * u[j]
            add_row(sets, j, u[j], room)
    return gap


@helper
def sweep_once(i: Any, sets: Any, mu: Any, gap: Any, d: Any, u: Any, room: Any) -> Any:
    """Move each coordinate to its own minimum; return 1 + d'u and the steepest slope that was met.

    Slopes are relative to the size of their terms; one that only leads out of the cone does not count.
    """
    bounds, starts, norms = sets[3], sets[4], sets[10]
    first = starts[i]
    steepest = 0.0
    for j in range(first, starts[i + 1]):
        pull = mu * product(sets, j, room)
        slope = u[j] - room[d + j - first] + pull
        bend = 1.0 + mu * norms[j]
        step = -slope / bend
        # Does the minimum without the hinge lie where the hinge is inactive? Then it is the minimum with it.
        if gap + bounds[j] * step > 0.0:
            slope += mu * bounds[j] * gap
            step = -slope / (bend + mu * bounds[j] * bounds[j])
        step = max(step, -u[j])
        if step != 0.0:
            size = u[j] + room[d + j - first] + abs(pull) + mu * abs(bounds[j] * gap)
            steepest = max(steepest, abs(slope) / max(size, 1e-300))
            u[j] += step
            gap += bounds[j] * step
            add_row(sets, j, step, room)
    return gap, steepest


@helper
def finish(i: Any, sets: Any, mu: Any, gap: Any, w: Any, u: Any, room: Any) -> Any:
    """Set u to the minimum by Newton's method and return True, or leave it and return False.

    With a square in place of the hinge the minimum is the same if it has a gap of zero or more; if not, the
    hinge is inactive at the minimum and its term can be left out.
    """
    first, end = sets[4][i], sets[4][i + 1]
    x = np.empty(end - first)
    for active in (1.0, 0.0):
        # q and the gap, as the variables of the dual
        dual = np.empty(w.size + 1)
        dual[: w.size] = room[: w.size]
        dual[w.size] = active * gap
        if not solve_dual(i, sets, mu, active, w, dual, x, room):
            return False
        if active == 0.0 or dual[w.size] >= 0.0:
            break
    u[first:end] = x
    return True


@helper
def solve_dual(i: Any, sets: Any, mu: Any, active: Any, w: Any, dual: Any, x: Any, room: Any) -> Any:
    """Minimise the dual by Newton steps, each cut until it descends; return whether that came to an end."""
    objective = respond(i, sets, mu, active, w, dual, x, room)
    for _ in range(NEWTON_STEPS):
        free = np.flatnonzero(x > 0.0)
        target, u = solve_face(i, sets, mu, active, w, free, room)
        share = 1.0
        trial = target
        while True:
            lower = respond(i, sets, mu, active, w, trial, x, room)
            if lower < objective or share < 1e-10:
                break
            share *= 0.5
            trial = dual + share * (target - dual)
        # Nothing is lower but for rounding: the target is the minimum if its answer has these entries.
        if not lower < objective:
            trial, share = target, 1.0
            respond(i, sets, mu, active, w, target, x, room)
        same = np.flatnonzero(x > 0.0)
        if share == 1.0 and same.size == free.size and (same == free).all():
            dual[:] = target
            # the answer to the dual, without the digits that it loses by the factor mu
            x[free] = np.maximum(0.0, u)
            return True
        if not lower < objective:
            return False
        dual[:] = trial
        objective = lower
    return False


@helper
def respond(i: Any, sets: Any, mu: Any, active: Any, w: Any, dual: Any, x: Any, room: Any) -> Any:
    """Set x to the u that answers the dual variables; return the dual objective, to be minimised."""
    bounds, starts, signs = sets[3], sets[4], sets[5]
    first, d = starts[i], w.size
    gap = active * dual[d]
    total = 0.5 * mu * gap * gap - mu * gap
    for k in range(d):
        total += mu * dual[k] * (0.5 * dual[k] - signs[i] * w[k])
    for j in range(x.size):
        x[j] = max(0.0, room[d + j] - mu * (product(sets, first + j, dual) + bounds[first + j] * gap))
        total += 0.5 * x[j] * x[j]
    return total


@helper
def solve_face(i: Any, sets: Any, mu: Any, active: Any, w: Any, free: Any, room: Any) -> Any:
    """Return q with the gap, and u, at the minimum over the entries `free` of u, whatever their sign.

    The others are zero. With E = [D d] and b = old - mu (z D w + d), all for these entries, u solves
    (I + mu E E') u = b. Where there are more of them than columns, u = b - mu E (I + mu E'E)^-1 E'b is the
    smaller system.
    """
    bounds, first, sign, d = sets[3], sets[4][i], sets[5][i], w.size
    b = np.empty(free.size)
    E = np.zeros((free.size, d + 1))
    for a in range(free.size):
        j = first + free[a]
        add_row(sets, j, 1.0, E[a])
        E[a, d] = active * bounds[j]
        b[a] = room[d + free[a]] - mu * (sign * product(sets, j, w) + E[a, d])
    if free.size <= d + 1:
        solve_shifted(E, mu, b)
        u = b
    else:
        inner = multiply_transposed(E, b)
        solve_shifted(np.ascontiguousarray(E.T), mu, inner)
        u = np.empty(free.size)
        for a in range(free.size):
            total = 0.0
            for k in range(d + 1):
                total += E[a, k] * inner[k]
            u[a] = b[a] - mu * total
    dual = multiply_transposed(E, u)
    for k in range(d):
        dual[k] += sign * w[k]
    dual[d] += active
    return dual, u


@helper
def multiply_transposed(E: Any, x: Any) -> Any:
    """Return E'x, summed from row to row."""
    total = np.zeros(E.shape[1])
    for a in range(E.shape[0]):
        for k in range(E.shape[1]):
            total[k] += E[a, k] * x[a]
    return total


@helper
def solve_shifted(E: Any, mu: Any, x: Any) -> None:
    """Solve (I + mu E E') y = x in place."""
    root = np.empty((x.size, x.size))
    factor_shifted(E, mu, root)
    substitute(root, x)


@helper
def factor_shifted(E: Any, mu: Any, root: Any) -> None:
    """Set the lower half of root to the Cholesky factor of I + mu E E', in a fixed order of sums."""
    for a in range(E.shape[0]):
        for b in range(a + 1):
            total = 0.0
            for k in range(E.shape[1]):
                total += E[a, k] * E[b, k]
            total *= mu
            if a == b:
                total += 1.0
            for k in range(b):
                total -= root[a, k] * root[b, k]
            root[a, b] = np.sqrt(total) if a == b else total / root[b, b]


@helper
def substitute(root: Any, x: Any) -> None:
    """Solve R R'y = x in place, where R is the lower half of root."""
    for a in range(x.size):
        total = x[a]
        for k in range(a):
            total -= root[a, k] * x[k]
        x[a] = total / root[a, a]
    for a in range(x.size - 1, -1, -1):
        total = x[a]
        for k in range(a + 1, x.size):
            total -= root[k, a] * x[k]
        x[a] = total / root[a, a]
