"""Every container, cut and damaged in every place: never half a file without an error."""

import bz2
import gzip
import io
import lzma
import zlib

import pytest

from olbench.data.compressed import Decompressed
from olbench.data.libsvm import read_libsvm
from olbench.errors import UserError

PACK = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
SUFFIX = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz"}
PARTS = [b"".join(b"+1 1:%d 2:0.5\n" % (k + 50 * part) for k in range(50)) for part in range(3)]
DAMAGE = (OSError, EOFError, lzma.LZMAError, zlib.error)


def unpack(kind, content, size=1000):
    stream, found = Decompressed(io.BytesIO(content), kind), b""
    while piece := stream.read(size):
        found += piece
    return found


@pytest.mark.parametrize("kind", PACK)
def test_every_cut_is_noticed_except_between_streams(kind):
    """A cut between two streams leaves a valid file; no reader can know of the missing ones."""
    streams = [PACK[kind](part) for part in PARTS]
    whole = b"".join(streams)
    ends = {len(streams[0]), len(streams[0]) + len(streams[1])}
    for cut in range(1, len(whole)):
        if cut not in ends:
            with pytest.raises(DAMAGE):
                unpack(kind, whole[:cut])


@pytest.mark.parametrize("kind", PACK)
def test_no_flipped_byte_gives_other_rows(kind):
    streams = [PACK[kind](part) for part in PARTS]
    whole = b"".join(streams)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        try:
            found = unpack(kind, bytes(damaged))
        except DAMAGE:
            continue
        assert found == b"".join(PARTS), place  # a byte that means nothing, such as gzip's time


@pytest.mark.parametrize("kind", PACK)
def test_all_streams_are_read_and_what_follows_the_last_is_refused(kind, tmp_path):
    """pbzip2 and `xz --threads` write many streams; 50 of 150 rows were read without an error."""
    first, second, third = (PACK[kind](part) for part in PARTS)
    whole = first + second + third
    for size in (1, 7, 100_000):
        assert unpack(kind, whole, size) == b"".join(PARTS)
    assert unpack(kind, PACK[kind](b"") + whole) == b"".join(PARTS)
    if kind != "bzip2":
        assert unpack(kind, first + bytes(64)) == PARTS[0]
    path = tmp_path / f"a.libsvm{SUFFIX[kind]}"
    garbage = (b"garbage", b"\x01", b"BZ", b"\x1f\x8b", b"\xfd7zXZ")
    for content in (first + b"\x00\x01" + second[2:] + third, *(whole + each for each in garbage)):
        path.write_bytes(content)
        with pytest.raises(UserError, match=f"its {kind} data is damaged or truncated"):
            read_libsvm([path])
