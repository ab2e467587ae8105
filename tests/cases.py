"""One test of many cases."""

import functools
import inspect


def for_each(names, cases):
    """Call a test with every case in one item, and fail with a list of the cases that failed.

    `names` and `cases` are those of `pytest.mark.parametrize`. Fixtures are made once for all cases.
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
