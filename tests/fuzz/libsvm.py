"""The LIBSVM reader against the plain parser of tests/data, also in damaged gzip, bzip2 and xz containers."""

import bz2
import gzip
import lzma
import random
import zlib
from pathlib import Path
from typing import Any

import olbench.data.readers.libsvm as reader
from olbench.errors import UserError
from tests.data.libsvm_reference import rows_of
from tests.fuzz.harness import Difference, expect_sentence
from tests.fuzz.mutate import change_bytes, change_lines

LABELS = [
    "+1",
    "-1",
    "1",
    "0",
    "2",
    "1.0",
    "-1.",
    "1e0",
    "10e-1",
    "+01",
    "9007199254740992",
    "0.5",
    "nan",
    "1:1",
    "x",
]
VALUES = [
    "1", "0", "-0", "+2.5", ".5", "5.", "1e5", "1E-5", "1e-320", "4.9e-324", "2.4703282292062327e-324",
    "1e308",
    "1.7976931348623157e308", "1.7976931348623159e308", "9007199254740993", "0.1",
    "123456789012345678901234567890",
    "8.5e-23", "6.0221407623e23", "0." + "0" * 330 + "1", "1e-400", "00000000000000000000001.5", "1e+0005",
    "nan",
    "1e", "--1", "1_0", "0x1", "", "1.2.3",
]  # fmt: skip
PACK = (gzip.compress, bz2.compress, lambda content: lzma.compress(content, preset=0))
MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")
FOREIGN = (b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c")


class LibsvmFuzzer:
    """Rows of labels and entries, written in every legal way and in some others."""

    name = "libsvm"

    def make(self, random: random.Random) -> bytes:
        """Return the content of a file."""
        content = b"".join(_line(random).encode() for _ in range(random.choice((0, 1, 2, 2, 3, 5, 9))))
        match random.randrange(10):
            case 0 | 1 | 2 | 3:
                return content
            case 4 | 5 | 6:
                return change_bytes(random, content)
            case 7:
                return change_lines(random, content)
            case 8:
                return _packed(random, content)
            case _:
                return change_bytes(random, _packed(random, content), most=2)

    def check(self, content: bytes, folder: Path) -> str:
        """Compare the rows with those of the reference, for blocks of any size."""
        path = folder / "data"
        path.write_bytes(content)
        expected = _expect(content)
        # The answer may not depend on where the blocks end.
        size, reader.BLOCK = reader.BLOCK, (1 << 16, 64, 17, 8)[zlib.crc32(content) % 4]
        try:
            rows, d = reader.read_libsvm([path])
        except UserError as error:
            expect_sentence(error)
            if expected is not None:
                raise Difference(f"refused what the reference reads: {error}") from None
            return "refused"
        finally:
            reader.BLOCK = size
        if expected is None:
            raise Difference("accepted what the reference refuses")
        _compare(rows, d, expected)
        return "accepted"


def _line(random: random.Random) -> str:
    if random.random() < 0.05:
        return random.choice(("\n", "  \n", "# comment 1:1\n", "\r\n", "\t#\n"))
    odd = random.random() < 0.06
    label = random.choice(LABELS if odd else LABELS[:10])
    words = [random.choice(("", "", "", " ")) + label]
    if random.random() < 0.06:
        words.append(random.choice(("qid:1", "qid:-2", "qid:0", "qid:x", "qid:", "qid:1.5")))
    indices = random.sample(range(0 if random.random() < 0.1 else 1, 30), random.choice((0, 1, 2, 3, 5, 12)))
    if random.random() < 0.85:
        indices.sort()
    words += [f"{_index(random, index)}:{_value(random)}" for index in indices]
    if random.random() < 0.03 and indices:
        words.append(f"{random.choice(indices)}:1")
    space = random.choice((" ", " ", " ", "  ", "\t", "\x0b"))
    comment = random.choice((" # c 1:2", "#", " #\u00e9")) if random.random() < 0.08 else ""
    return space.join(words) + comment + random.choice(("\n", "\n", "\n", "\r\n", " \n", ""))


def _index(random: random.Random, index: int) -> str:
    if random.random() < 0.95:
        return str(index)
    return random.choice(
        (f"0{index}", "2147483646", "2147483647", "00000000000007", "-1", "", "1.0", "9" * 30)
    )


def _value(random: random.Random) -> str:
    match random.randrange(8):
        case 0:
            return random.choice(VALUES[:23] if random.random() < 0.85 else VALUES)
        case 1:
            return repr(random.uniform(-1, 1) * 10.0 ** random.randint(-320, 308))
        case 2:
            return f"{random.getrandbits(70)}e{random.randint(-340, 300)}"
        case 3:
            digits = "".join(random.choice("0123456789") for _ in range(random.randint(1, 25)))
            at = random.randrange(len(digits) + 1)
            return digits[:at] + "." + digits[at:]
        case _:
            return str(random.randint(-20, 20))


def _packed(random: random.Random, content: bytes) -> bytes:
    """Return content in one to three compressed streams, with what may and may not follow them."""
    pack, streams = random.choice(PACK), random.choice((1, 1, 2, 3))
    cuts = sorted(random.randrange(len(content) + 1) for _ in range(streams - 1))
    parts = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    tail = random.choice((b"", b"", b"", b"", b"\0" * 8, b"garbage", b"\0\0\0\0x"))
    return b"".join(map(pack, parts)) + tail


def _expect(content: bytes) -> list[tuple[float, dict[int, float]]] | None:
    """Return what the reference makes of a file, plain or packed."""
    if content.startswith(FOREIGN):
        return None
    kind = next((k for k, magic in enumerate(MAGIC) if content.startswith(magic)), None)
    plain = content if kind is None else _unpacked(content, kind)
    return None if plain is None else rows_of(plain)


def _unpacked(content: bytes, kind: int) -> bytes | None:
    """Return all streams of a file, all of it in memory, or None where a byte of it belongs to no stream."""
    plain = b""
    while content:
        stream: Any = (zlib.decompressobj(31), bz2.BZ2Decompressor(), lzma.LZMADecompressor(lzma.FORMAT_XZ))[
            kind
        ]
        try:
            plain += stream.decompress(content)
        except (OSError, zlib.error, lzma.LZMAError):
            return None
        if not stream.eof:
            return None
        content = stream.unused_data if kind == 1 else stream.unused_data.lstrip(b"\0")
    return plain


def _compare(rows: Any, d: int, expected: list[tuple[float, dict[int, float]]]) -> None:
    indices = [index for _, entries in expected for index in entries]
    first = 0 if 0 in indices else 1
    if rows.n != len(expected):
        raise Difference(f"{rows.n} rows, where the reference has {len(expected)}")
    if d != max(1, max(indices, default=0) + 1 - first):
        raise Difference(f"{d} features, where the reference has {max(indices, default=0) + 1 - first}")
    for k, (label, entries) in enumerate(expected):
        part = slice(int(rows.indptr[k]), int(rows.indptr[k + 1]))
        found = list(zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True))
        wanted = sorted((index - first, value) for index, value in entries.items())
        if rows.labels[k] != label or found != wanted:
            raise Difference(
                f"another row: {rows.labels[k]} {found}, where the reference has {label} {wanted}"
            )
