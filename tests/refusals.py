"""Refusals as tables: each case must be refused in its words."""

from olbench import UserError


def find_wrong(cases, act, error=UserError):
    """Return the cases (*inputs, words) in which `act(*inputs)` is not refused in these words."""
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
