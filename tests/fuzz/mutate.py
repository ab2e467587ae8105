"""Mutations: of bytes, of lines, and of trees of plain values."""

import random
from typing import Any

#: Bytes that mean something to one of the readers, and some that mean nothing to any.
TELLING = [
    b"\0", b"\n", b"\r", b"\r\n", b" ", b"\t", b"\x0b", b"\x0c", b"#", b":", b",", b'"', b"'", b"-", b"+",
    b".",
    b"e", b"E", b"0", b"9", b"_", b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xa0", "²".encode(), "١".encode(),
    b"nan", b"inf", b"1e999", b"-0", b"qid:", b"{", b"}", b"[", b"]", b"&a ", b"*a", b"!!", b"|", b">", b"%",
    b"~", b"<<: ", b"- ", b"=", b"=>", b"null", b"true", b"0x1", b"1" * 400, "\u2028".encode(), b"\x85",
]  # fmt: skip
#: Values that a field of a tree may be changed to.
ODD_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 99, 2**31, 2**63, 2**64, -(2**70), 10**400, 0.5, -0.0, 1e308,
    -1e308, 5e-324,
    float("nan"), float("inf"), "", " ", "x", "ok", "é", "\ud800", "\0", "1", "-1", "x" * 300, "\n", [],
    [1], [[]],
    [None], ["x"], [1, 2, 3], {}, {"x": 1}, {"": None}, {"t": [1]}, {"t": []}, {"t": 7},
]  # fmt: skip


def change_bytes(random: random.Random, content: bytes, most: int = 4) -> bytes:
    """Return content with a few bytes flipped, put in, cut out, doubled or exchanged."""
    for _ in range(random.randint(1, most)):
        at = random.randrange(len(content) + 1)
        to = min(len(content), at + random.choice((1, 1, 1, 2, 4, 16, 64)))
        match random.randrange(7):
            case 0 if at < len(content):
                flipped = content[at] ^ (1 << random.randrange(8))
                content = content[:at] + bytes([flipped]) + content[at + 1 :]
            case 1:
                content = content[:at] + random.choice(TELLING) + content[at:]
            case 2:
                content = content[:at] + content[to:]
            case 3:
                content = content[:to] + content[at:to] * random.choice((1, 1, 2, 30)) + content[to:]
            case 4:
                content = content[:at] + random.choice(TELLING) + content[to:]
            case 5:
                content = content[:at]
            case _:
                other = random.randrange(len(content) + 1)
                content = content[:at] + content[other : other + to - at] + content[to:]
    return content


def change_lines(random: random.Random, content: bytes) -> bytes:
    """Return content with lines left out, doubled, exchanged or indented otherwise."""
    lines = content.split(b"\n")
    for _ in range(random.randint(1, 3)):
        a, b = random.randrange(len(lines)), random.randrange(len(lines))
        match random.randrange(4):
            case 0 if len(lines) > 1:
                del lines[a]
            case 1:
                lines.insert(b, lines[a])
            case 2:
                lines[a], lines[b] = lines[b], lines[a]
            case _:
                lines[a] = b" " * random.randint(0, 4) + lines[a].lstrip(b" ")
    return b"\n".join(lines)


def change_tree(random: random.Random, tree: Any) -> Any:
    """Return a tree of plain values with one value, somewhere in it, changed, left out, renamed or moved."""
    if isinstance(tree, dict) and tree and random.random() < 0.85:
        name = random.choice(list(tree))
        match random.randrange(8):
            case 0:
                return {key: value for key, value in tree.items() if key != name}
            case 1:
                return {(_odd_key(random) if key == name else key): value for key, value in tree.items()}
            case 2:
                return {**tree, name: tree[random.choice(list(tree))]}
            case _:
                return {**tree, name: change_tree(random, tree[name])}
    if isinstance(tree, list) and tree and random.random() < 0.85:
        at = random.randrange(len(tree))
        match random.randrange(6):
            case 0:
                return tree[:at] + tree[at + 1 :]
            case 1:
                return [*tree, tree[at]]
            case _:
                return [*tree[:at], change_tree(random, tree[at]), *tree[at + 1 :]]
    if (
        isinstance(tree, int | float)
        and not isinstance(tree, bool)
        and abs(tree) < 2**80
        and random.random() < 0.4
    ):
        return random.choice((tree + 1, tree - 1, -tree, tree * 10, tree + 0.5, str(tree)))
    return random.choice(ODD_VALUES)


def _odd_key(random: random.Random) -> str:
    return random.choice(("", "x", "key", "status", "version", "n", "curve", "id", "name", "é", "__class__"))
