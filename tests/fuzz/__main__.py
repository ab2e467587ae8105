"""The runner: `python -m tests.fuzz --seconds 600`, or `python -m tests.fuzz --replay FILE`.

Prints how many inputs each fuzzer tried, and how many crashed a reader, hung it or gave another answer than
the reference. Every input that failed is saved with the command that replays it. Exits with 1 if any did.
"""

import argparse
import itertools
import os
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path

#: Gigabytes of address space: an input that asks for more is a defect, and the machine survives it.
MEMORY = 16
#: Inputs of one fuzzer before the next has its turn.
TURN_SECONDS = 2.0


def main() -> int:
    """Fuzz for some time or replay files; return the exit code."""
    options = parse()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY << 30, resource.RLIM_INFINITY))
    # A file in memory is written and read in microseconds, so that the readers take the time.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="olbench-fuzz-", dir=memory) as folder:
        os.environ["OLBENCH_CACHE"] = os.environ.get("OLBENCH_CACHE", f"{folder}/cache")
        os.environ.pop("OLBENCH_MIRROR", None)
        scratch = Path(folder, "scratch")
        scratch.mkdir()
        if options.replay:
            return max(replay(path, scratch) for path in options.replay)
        return fuzz_in_turns(options, scratch)


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to fuzz, in all")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same inputs")
    parser.add_argument("--only", default="", help="names of fuzzers, separated by commas")
    parser.add_argument("--inputs", type=int, default=10**9, help="how many inputs a fuzzer tries at most")
    parser.add_argument("--save", type=Path, default=Path("fuzz-failures"), help="folder for what failed")
    parser.add_argument("--replay", type=Path, nargs="+", help="files that an earlier run saved")
    return parser.parse_args()


def fuzz_in_turns(options: argparse.Namespace, scratch: Path) -> int:
    """Let each fuzzer have turns until the time is over; print the table."""
    from tests.fuzz.fuzzers import make_fuzzers
    from tests.fuzz.harness import HEADING, Tally, fuzz, save

    chosen = make_fuzzers(options.only)
    tallies = [Tally(fuzzer.name) for fuzzer in chosen]
    end = time.monotonic() + options.seconds
    for fuzzer, tally in itertools.cycle(list(zip(chosen, tallies, strict=True))):
        left = end - time.monotonic()
        if left <= 0 or all(each.tried >= options.inputs for each in tallies):
            break
        wanted = options.inputs - tally.tried
        if wanted > 0:
            turn = min(left, TURN_SECONDS)
            fuzz(fuzzer, options.seed, scratch, wanted, turn, tally.tried, tally)
    print(HEADING)
    for tally in tallies:
        print(tally.describe())
    tried, failed = sum(each.tried for each in tallies), sum(each.failed for each in tallies)
    seconds = sum(each.seconds for each in tallies)
    print(f"{tried:,} inputs in {seconds:,.0f} s, seed {options.seed}: {failed:,} failed")
    for tally in tallies:
        for kind, number in tally.kinds.most_common():
            print(f"{tally.name}: {number:,} x {kind}")
        for (kind, _), path in zip(tally.saved, save(tally, options.save), strict=True):
            print(f"  {kind}\n    python -m tests.fuzz --replay {path}")
    return 1 if failed else 0


def replay(path: Path, scratch: Path) -> int:
    """Give a saved input to its fuzzer once more and show the traceback, if there is one."""
    from tests.fuzz.fuzzers import make_fuzzers
    from tests.fuzz.harness import Hang, limit_time

    [fuzzer] = make_fuzzers(path.name.partition("-")[0])
    try:
        with limit_time():
            print(f"{path}: {fuzzer.check(path.read_bytes(), scratch)}")
        return 0
    except (Exception, Hang):
        print(f"{path}: failed")
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    sys.exit(main())
