"""What all fuzzers share: an input is bytes, made from a seed, and an answer is right, a refusal or a defect.

A reader may accept an input or refuse it with one sentence. Any other exception is a crash, an answer that
takes too long a hang, and an answer that an independent reference contradicts a difference.
"""

import random
import re
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

#: Seconds after which one input counts as a hang.
PATIENCE = 20.0
#: How many times as long an input may take that uses little of the processor.
SLEEP = 6
#: How many inputs that failed in the same way are saved.
SAVED = 3


class Difference(AssertionError):  # noqa: N818
    """The reader and the reference disagree; the message says in what."""


class Hang(BaseException):
    """The reader did not answer in time; not an Exception, so that no reader takes it for its own."""


class Fuzzer(Protocol):
    """What a fuzzer has: a name, a way to make an input and a way to judge the answer to it."""

    name: str

    def make(self, random: random.Random) -> bytes:
        """Return an input."""

    def check(self, content: bytes, folder: Path) -> str:
        """Give an input to the reader: "accepted" or "refused", or a Difference or another exception."""


@dataclass
class Tally:
    """What came out of the inputs of one fuzzer."""

    name: str
    verdicts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    #: The first inputs of each kind of failure.
    saved: list[tuple[str, bytes]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def tried(self) -> int:
        """How many inputs were given to the reader."""
        return sum(self.verdicts.values())

    @property
    def failed(self) -> int:
        """How many inputs crashed it, hung it or gave another answer than the reference."""
        return sum(self.verdicts[verdict] for verdict in ("crash", "hang", "difference"))

    def add(self, verdict: str, reason: str, content: bytes) -> None:
        """Count an answer; keep the input if it failed in a way that is new."""
        self.verdicts[verdict] += 1
        if reason:
            kind = re.sub(r"'.*|\".*|\[.*|-?\d[\d.e+-]*", "…", f"{verdict}: {reason}", count=1)
            self.kinds[kind] += 1
            if self.kinds[kind] <= SAVED:
                self.saved.append((kind, content))

    def describe(self) -> str:
        """Return a line of the table that the runner prints."""
        counts = " ".join(
            f"{self.verdicts[verdict]:>10,}"
            for verdict in ("accepted", "refused", "crash", "hang", "difference")
        )
        rate = self.tried / self.seconds if self.seconds else 0.0
        return f"{self.name:<8} {self.tried:>10,} {counts} {rate:>9,.0f} a second"


HEADING = f"{'':<8} {'inputs':>10} " + " ".join(
    f"{word:>10}" for word in ("accepted", "refused", "crashes", "hangs", "differences")
)


def judge(fuzzer: Fuzzer, content: bytes, folder: Path) -> tuple[str, str]:
    """Give one input to a reader; return the verdict and, where it failed, the reason."""
    try:
        with limit_time():
            return fuzzer.check(content, folder), ""
    except Difference as difference:
        return "difference", str(difference).splitlines()[0][:100]
    except Hang:
        return "hang", f"no answer within {PATIENCE:g} seconds"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return "crash", f"{type(error).__name__} at {Path(last.filename).name} in {last.name}"


@contextmanager
def limit_time() -> Iterator[None]:
    """Raise a Hang in what takes longer than an answer may.

    On a busy machine it is the processor time that counts; what sleeps has a few times as long.
    """
    started, used = time.monotonic(), time.process_time()

    def interrupt(number: int, frame: Any) -> None:
        is_starved = time.process_time() - used < PATIENCE / 2
        if is_starved and time.monotonic() - started < SLEEP * PATIENCE:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        else:
            raise Hang

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fuzz(
    fuzzer: Fuzzer, seed: int, folder: Path, inputs: int, seconds: float, first: int = 0,
    tally: Tally | None = None,
) -> Tally:  # fmt: skip
    """Try so many inputs from number `first` on, or what fits into the time; seed and k decide input k."""
    tally = tally or Tally(fuzzer.name)
    started = time.monotonic()
    for k in range(first, first + inputs):
        content = fuzzer.make(random.Random(f"{fuzzer.name} {seed} {k}"))
        tally.add(*judge(fuzzer, content, folder), content)
        if time.monotonic() - started > seconds:
            break
    tally.seconds += time.monotonic() - started
    return tally


def save(tally: Tally, folder: Path) -> list[Path]:
    """Write the inputs that failed; the name says which fuzzer replays them."""
    paths = []
    for _, content in tally.saved:
        path = folder / f"{tally.name}-{sha256(content).hexdigest()[:12]}"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        paths.append(path)
    return paths


def expect_sentence(error: Exception) -> None:
    """Raise a Difference for a refusal that is not a sentence: empty, several lines or endless."""
    text = str(error)
    if not text.strip() or "\n" in text or len(text) > 2000:
        raise Difference(f"the refusal is not one sentence: {text[:80]!r}")


Maker = Callable[[random.Random], bytes]
