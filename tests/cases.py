"""What tests share: one test of many cases, and a correction of p-values by its definition."""

import functools
import inspect
from itertools import combinations


def for_each(names, cases):
    """Call a test with every case in one item, and fail with a list of the cases that failed.

    `names` and `cases` are as in `pytest.mark.parametrize`. Fixtures are made once for all cases.
    """
    names = (names,) if isinstance(names, str) else names
    cases = list(cases)

    def decorate(test):
        @functools.wraps(test)
        def loop(**fixtures):
            failed = []
            for case in cases:
                values = (case,) if len(names) == 1 else case
                try:
                    test(**fixtures, **dict(zip(names, values, strict=True)))
                except Exception as error:
                    failed.append(f"{case!r}: {type(error).__name__}: {error}")
            assert not failed, "\n".join([f"{len(failed)} of {len(cases)} cases failed", *failed])

        parameters = inspect.signature(test).parameters.values()
        loop.__signature__ = inspect.Signature([each for each in parameters if each.name not in names])
        return loop

    return decorate


def correct_by_closed_testing(p):
    """Return Holm's p-values: a hypothesis is rejected if Bonferroni rejects every set that has it."""
    sets = [each for size in range(1, len(p) + 1) for each in combinations(range(len(p)), size)]
    return [max(min(1, len(s) * min(p[j] for j in s)) for s in sets if i in s) for i in range(len(p))]
