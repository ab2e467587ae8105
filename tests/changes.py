"""Strategies for inputs that are nearly right: bytes, lines and trees with a few changes."""

import datetime

from hypothesis import settings
from hypothesis import strategies as st

#: Bytes that mean something to one of the readers, and some that mean nothing to any.
TELLING = st.sampled_from([
    b"\0", b"\n", b"\r", b"\r\n", b" ", b"\t", b"\x0b", b"#", b":", b",", b'"', b"'", b"-", b"+", b".", b"e",
    b"0", b"9", b"_", b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xa0", "²".encode(), "١".encode(), b"nan", b"inf",
    b"1e999", b"-0", b"{", b"}", b"[", b"]", b"&a ", b"*a", b"!!", b"|", b">", b"%", b"~", b"<<: ", b"- ",
    b"=", b"=>", b"null", b"true", b"0x1", b"1" * 400, "\u2028".encode(), b"\x85", b"",
])  # fmt: skip
#: Values that a field of a tree may be changed to.
ODD = st.sampled_from([
    None, True, False, 0, 1, -1, 7, 2**31, 2**63, 2**64, -(2**70), 10**400, 0.5, -0.0, 1e308, 5e-324,
    float("nan"), float("inf"), "", " ", "x", "ok", "é", "\ud800", "\0", "1", "x" * 300, "\n", [], [1], [[]],
    [None], ["x"], [1, 2, 3], {}, {"x": 1}, {"": None}, {"t": [1]}, {"t": []}, {"t": 7},
])  # fmt: skip
ODD_KEYS = st.sampled_from(
    ["", "x", "key", "status", "version", "n", "curve", "id", "name", "é", "__class__"]
)


def examples(quick):
    """Return settings for this many examples, scaled by the profile; one that takes a minute is a hang."""
    count = max(1, quick * settings.default.max_examples // 100)
    return settings(max_examples=count, deadline=datetime.timedelta(minutes=1))


def expect_sentence(error, has="", lacks="\n"):
    """Assert that a refusal is one sentence: not empty, not several lines, not endless."""
    text = str(error)
    assert has in text
    assert lacks not in text
    assert text.strip(), "an empty refusal"
    assert "\n" not in text, text
    assert len(text) <= 2000, text[:200]


@st.composite
def changed_bytes(draw, content):
    """Draw content with a few bytes replaced, put in, cut out or doubled."""
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(content)))
        end = min(len(content), begin + draw(st.sampled_from([0, 1, 1, 2, 4, 16, 64])))
        middle = draw(TELLING | st.binary(max_size=2) | st.just(content[begin:end] * 2))
        content = content[:begin] + middle + content[end:]
    return content[: draw(st.integers(0, len(content)))] if draw(st.integers(0, 9)) == 9 else content


@st.composite
def changed_lines(draw, content):
    """Draw content with a line left out, doubled, moved or indented otherwise."""
    lines = content.split(b"\n")
    at, to = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
    match draw(st.sampled_from(["out", "double", "swap", "indent"])):
        case "out":
            del lines[at]
        case "double":
            lines.insert(to, lines[at])
        case "swap":
            lines[at], lines[to] = lines[to], lines[at]
        case _:
            lines[at] = b" " * draw(st.integers(0, 4)) + lines[at].lstrip(b" ")
    return b"\n".join(lines)


def damaged(content):
    """Draw content with changed bytes or lines."""
    return changed_bytes(content) | changed_lines(content)


@st.composite
def changed_tree(draw, tree):
    """Draw a tree of plain values with one value, somewhere in it, changed, left out, renamed or moved."""
    deeper = draw(st.integers(0, 5)) > 0
    if isinstance(tree, dict) and tree and deeper:
        name = draw(st.sampled_from(list(tree)))
        match draw(st.sampled_from(["out", "rename", "copy", *["change"] * 5])):
            case "out":
                return {key: value for key, value in tree.items() if key != name}
            case "rename":
                other = draw(ODD_KEYS)
                return {(other if key == name else key): value for key, value in tree.items()}
            case "copy":
                return {**tree, name: tree[draw(st.sampled_from(list(tree)))]}
        return {**tree, name: draw(changed_tree(tree[name]))}
    if isinstance(tree, list) and tree and deeper:
        at = draw(st.integers(0, len(tree) - 1))
        match draw(st.sampled_from(["out", "double", *["change"] * 4])):
            case "out":
                return tree[:at] + tree[at + 1 :]
            case "double":
                return [*tree, tree[at]]
        return [*tree[:at], draw(changed_tree(tree[at])), *tree[at + 1 :]]
    if isinstance(tree, int | float) and not isinstance(tree, bool) and draw(st.booleans()):
        near = [tree + 1, tree - 1, -tree, tree * 10, str(tree)] if abs(tree) < 2**80 else [str(tree)[:9]]
        return draw(st.sampled_from(near))
    return draw(ODD)
