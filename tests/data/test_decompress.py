"""Every container, cut and damaged in every place: never half a file without an error."""

import bz2
import gzip
import io
import lzma
import zlib

import pytest

from olbench.data.readers.decompress import Decompressed
from olbench.data.readers.libsvm import read_libsvm
from olbench.errors import UserError
from tests.cases import for_each

PACK = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
SUFFIX = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz"}
PARTS = [b"".join(b"+1 1:%d 2:0.5\n" % (k + 50 * part) for k in range(50)) for part in range(3)]
DAMAGE = (OSError, EOFError, lzma.LZMAError, zlib.error)


def unpack(kind, content, size=1000):
    stream, found = Decompressed(io.BytesIO(content), kind), b""
    while piece := stream.read(size):
        found += piece
    return found


@for_each("kind", PACK)
@for_each("size", [1, 7, 100_000])
def test_all_streams_are_read(kind, size):
    content = b"".join(map(PACK[kind], PARTS))
    assert unpack(kind, content, size) == b"".join(PARTS)
    assert unpack(kind, PACK[kind](b"") + content) == b"".join(PARTS)


@pytest.mark.parametrize("kind", ["gzip", "xz"])
def test_zeros_may_follow_a_stream(kind):
    assert unpack(kind, PACK[kind](PARTS[0]) + bytes(64)) == PARTS[0]


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


@for_each("kind", PACK)
@for_each("garbage", [b"garbage", b"\x01", b"BZ", b"\x1f\x8b", b"\xfd7zXZ"])
def test_what_follows_the_last_stream_is_refused(kind, garbage, tmp_path):
    path = tmp_path / f"a.libsvm{SUFFIX[kind]}"
    path.write_bytes(b"".join(map(PACK[kind], PARTS)) + garbage)
    with pytest.raises(UserError, match=f"its {kind} data is damaged or truncated"):
        read_libsvm([path])


@pytest.mark.parametrize("kind", PACK)
def test_damage_in_a_later_stream_is_no_end_of_the_file(kind, tmp_path):
    """pbzip2 and `xz --threads` write many streams; 50 of 150 rows were read without an error."""
    first, second, third = (PACK[kind](part) for part in PARTS)
    path = tmp_path / f"a.libsvm{SUFFIX[kind]}"
    path.write_bytes(first + b"\x00\x01" + second[2:] + third)
    with pytest.raises(UserError, match=f"its {kind} data is damaged or truncated"):
        read_libsvm([path])
