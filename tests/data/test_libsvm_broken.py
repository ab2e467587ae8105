"""Broken files: each is refused with one sentence that names the file, the line, the column and the token."""

import bz2
import gzip
import lzma

from olbench.data.libsvm import read_libsvm
from tests.refusals import find_wrong, refusal

GOOD = b"+1 1:1 2:2\n-1 1:3\n"

# What the file holds, and the exact message; FILE stands for its path.
REPACK = "unpack it, or compress it with gzip, bzip2 or xz"
CUT = "the file ends before its last stream does"
BROKEN = [
    *[
        (content, "FILE contains no examples")
        for content in (b"", b"\n\n\n", b"# only a comment", b"\xef\xbb\xbf", gzip.compress(b""))
    ],
    # labels
    *[
        (f"{label} 1:1\n".encode(), f"FILE:1:1: label '{label}' is not a number")
        for label in ("spam", "nan", "+", "--1", "1..", "0x1", "<!DOCTYPE")
    ],
    (b"5e-324 1:1\n", "FILE:1:1: label '5e-324' is not a whole number"),
    (b"+1 1:1\n\nham 1:2\n", "FILE:3:1: label 'ham' is not a number"),
    (b"1e400 1:1\n", "FILE:1:1: label '1e400' is too large"),
    (b"99999999999999999999 1:1\n", "FILE:1:1: label '99999999999999999999' is too large"),
    (b"1,2 1:1\n", "FILE:1:1: label '1,2' lists several labels, but an example has one"),
    (b"+1 1:1\n  3:4\n", "FILE:2:3: the line starts with '3:4', where a label such as +1 or -1 belongs"),
    (b"\xff\xfe1\x00 \x001\x00:\x001\x00", "FILE:1:1: label '\\xff\\xfe1\\x00' is not a number"),
    (b"\x00\x00\x00\x00", "FILE:1:1: label '\\x00\\x00\\x00\\x00' is not a number"),
    ("\u0661 1:1\n".encode(), "FILE:1:1: label '\u0661' is not a number"),
    (b"\xef\xbb\xbfx 1:1\n", "FILE:1:4: label 'x' is not a number"),
    (b"x" * 100 + b" 1:1\n", f"FILE:1:1: label '{'x' * 60}... (100 characters)' is not a number"),
    # query ids
    (b"1 qid:x 1:1\n", "FILE:1:3: query id 'x' is not a whole number"),
    (b"1 qid: 1:1\n", "FILE:1:3: query id '' is not a whole number"),
    (b"1 1:1 qid:3\n", "FILE:1:7: 'qid:3' must come right after the label"),
    (b"1 QID:1 1:1\n", "FILE:1:3: index 'QID' is not a whole number"),
    # entries
    *[(f"1 {i}:5\n".encode(), f"FILE:1:3: index '{i}' is not a whole number") for i in ("a", "1.0", "0x1")],
    (b"1 1:1 word\n", "FILE:1:7: 'word' is not an index:value pair"),
    (b"1 1:1 -1 1:2\n", "FILE:1:7: '-1' is not an index:value pair"),
    (b"+1 1:1\r-1 1:2\r", "FILE:1:8: '-1' is not an index:value pair"),
    (b"1 1:1, 2:1\n", "FILE:1:3: value '1,' of feature 1 is not a number"),
    ("1 1:1\u00a02:1\n".encode(), "FILE:1:3: value '1\\xa02:1' of feature 1 is not a number"),
    (b"1 :5\n", "FILE:1:3: ':5' has no index before its colon"),
    (b"1 -1:5\n", "FILE:1:3: index '-1' is negative"),
    (b"1 2147483647:5\n", "FILE:1:3: index '2147483647' is larger than 2147483646"),
    (
        b"1 1" + b"0" * 5000 + b":5\n",
        f"FILE:1:3: index '1{'0' * 59}... (5,001 characters)' is larger than 2147483646",
    ),
    # values
    *[
        (f"1 1:{value}\n".encode(), f"FILE:1:3: value '{value}' of feature 1 is not a number")
        for value in ("2:3", "1.2.3", "1e", "e5", "1e5.0", "0x10")
    ],
    (b"1 1:nan\n", "FILE:1:3: value 'nan' of feature 1 is not finite"),
    (b"1 1:-Infinity\n", "FILE:1:3: value '-Infinity' of feature 1 is not finite"),
    (b"1 1: 5\n", "FILE:1:3: '1:' has no value after its colon"),
    (b"1 1:# 5\n", "FILE:1:3: '1:' has no value after its colon"),
    (b"1 1:1\x00\n", "FILE:1:3: value '1\\x00' of feature 1 is not a number"),
    (b"1 007:bad\n", "FILE:1:3: value 'bad' of feature 7 is not a number"),
    (b"1 1:1 12:-1.8e308\n", "FILE:1:7: value '-1.8e308' of feature 12 is too large for a 64-bit number"),
    (
        b"1 1:" + b"9" * 400 + b"\n",
        f"FILE:1:3: value '{'9' * 60}... (400 characters)' of feature 1 is too large for a 64-bit number",
    ),
    # features given twice
    (b"1 1:1 1:2\n", "FILE:1:7: '1:2' gives feature 1 a second time"),
    (b"1 3:1 2:1 1:1 02:5 # 2:9\n", "FILE:1:15: '02:5' gives feature 2 a second time"),
    (b"1 1:1\n-1 5:1\t5:1\n", "FILE:2:8: '5:1' gives feature 5 a second time"),
    # a fault far down
    (GOOD * 5000 + b"oops\n", "FILE:10001:1: label 'oops' is not a number"),
    (GOOD * 5000 + b"+1 7:1 7:2", "FILE:10001:8: '7:2' gives feature 7 a second time"),
    # compression
    (gzip.compress(b"1 1:x\n"), "FILE:1:3: value 'x' of feature 1 is not a number"),
    (gzip.compress(GOOD * 100)[:-20], f"FILE: its gzip data is damaged or truncated ({CUT})"),
    (bz2.compress(GOOD * 100)[:-5], f"FILE: its bzip2 data is damaged or truncated ({CUT})"),
    (lzma.compress(GOOD * 100)[:-20], f"FILE: its xz data is damaged or truncated ({CUT})"),
    (b"BZh9garbage follows here", "FILE: its bzip2 data is damaged or truncated (Invalid data stream)"),
    (b"PK\x03\x04rest", "FILE is a zip archive; " + REPACK),
    (b"\x28\xb5\x2f\xfdrest", "FILE is compressed with zstd; " + REPACK),
    (b"7z\xbc\xaf\x27\x1crest", "FILE is a 7z archive; " + REPACK),
]


def test_a_broken_file_is_refused_in_one_sentence_whatever_the_size_of_the_blocks(libsvm_file, monkeypatch):
    path = libsvm_file("")
    for block in (2 << 20, 16):
        monkeypatch.setattr("olbench.data.libsvm.BLOCK", block)
        cases = [(content, message.replace("FILE", str(path))) for content, message in BROKEN]
        assert find_wrong(cases, lambda content: read_libsvm([libsvm_file(content)])) == []


def test_the_first_of_two_faults_is_named(libsvm_file):
    for fault in (b"1 1:1 2:x", b"y", b"1 4:1 3:2 4:3", b"1 1:1 2:1e309", b"1 1:1 2:2e308", b"5e-324 1:1"):
        for line in (2, 400, 502, 999):
            lines = [b"+1 1:2 2:5e-324", b"", b"-1 1:3 # 1:1"] * 333 + [b"1 1:1"]
            lines[line - 1] = fault
            path = libsvm_file(b"\n".join([*lines, b"1 nothing"]))
            assert refusal(read_libsvm, [path]).startswith(f"{path}:{line}:")


def test_files_that_cannot_be_opened_are_named(tmp_path):
    none = tmp_path / "none"
    assert f"cannot read {none}: No such file or directory" in refusal(read_libsvm, [none])
    assert f"cannot read {tmp_path}: Is a directory" in refusal(read_libsvm, [tmp_path])


def test_a_second_file_is_named_when_it_is_the_broken_one(libsvm_file):
    good, bad = libsvm_file(GOOD, "good"), libsvm_file(b"1 1:1\n1 x\n", "bad")
    assert refusal(read_libsvm, [good, bad]) == f"{bad}:2:3: 'x' is not an index:value pair"
