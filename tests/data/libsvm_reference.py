"""The LIBSVM format in a dozen plain lines: what the compiled reader is compared with."""

import math
import re

NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
ENTRY = re.compile(rb"(\d+):(" + NUMBER + rb")")


def rows_of(content: bytes):
    """Return [(label, {index: value})], or None where the content is not valid."""
    rows = []
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        tokens = line.split(b"#", 1)[0].split()
        if tokens:
            row = _row(tokens)
            if row is None:
                return None
            rows.append(row)
    return rows or None


def _row(tokens):
    if not re.fullmatch(NUMBER, tokens[0]):
        return None
    label = float(tokens[0])
    if abs(label) > 2**53 or label != math.floor(label):
        return None
    rest = tokens[1:]
    if rest and rest[0].startswith(b"qid:"):
        if not re.fullmatch(rb"qid:-?\d+", rest[0]):
            return None
        rest = rest[1:]
    entries = {}
    for token in rest:
        match = ENTRY.fullmatch(token)
        if not match or len(match[1].lstrip(b"0")) > 10 or int(match[1]) > 2**31 - 2:
            return None
        if int(match[1]) in entries or math.isinf(float(match[2])):
            return None
        entries[int(match[1])] = float(match[2])
    return label, entries
