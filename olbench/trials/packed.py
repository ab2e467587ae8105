"""Records in as few bytes as possible, for runs that ship and for bundles: the lines of a ledger, with xz."""

import io
import lzma
from collections.abc import Iterable, Iterator

from olbench.data.readers.decompress import BUFFER, Decompressed
from olbench.trials.record import RecordError, read_line, write_line
from olbench.trials.trial import Record

#: Records are never this much larger than packed, with some room for a few; a bomb is.
MOST_RATIO, ROOM = 200, 16 << 20


def pack(records: Iterable[Record]) -> bytes:
    """Return records in as few bytes as possible."""
    lines = b"".join(map(write_line, records))
    return lzma.compress(lines, preset=9 | lzma.PRESET_EXTREME)


def unpack(data: bytes) -> Iterator[Record]:
    """Yield the records that `pack` packed; a ValueError says what is wrong with data of another kind."""
    reader = io.BufferedReader(Decompressed(io.BytesIO(data), "xz"), BUFFER)
    left = ROOM + MOST_RATIO * len(data)
    try:
        while line := reader.readline(left + 1):
            left -= len(line)
            if left < 0:
                raise RecordError("it unpacks to far more than records do")
            yield read_line(line)
    except (lzma.LZMAError, EOFError) as error:
        raise RecordError(f"it is damaged: {str(error).rstrip('.')}") from None
