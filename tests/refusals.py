"""Refusals, and tables of them."""

import pytest

from olbench import UserError


def refusal(act, /, *inputs, **options):
    """Return the sentence that refuses `act(*inputs, **options)`."""
    with pytest.raises(UserError) as refused:
        act(*inputs, **options)
    return str(refused.value)


def find_wrong(cases, act, error=UserError):
    """Return the cases (*inputs, words) where `act(*inputs)` is not refused with these words."""
    wrong = []
    for *inputs, words in cases:
        try:
            act(*inputs)
        except error as refused:
            if words not in str(refused):
                wrong.append((inputs, words, str(refused)))
        else:
            wrong.append((inputs, words, "not refused"))
    return wrong
