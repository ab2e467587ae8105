"""All fuzzers by name."""

from tests.fuzz.baseline import BaselineFuzzer
from tests.fuzz.command import CommandFuzzer
from tests.fuzz.config import ConfigFuzzer
from tests.fuzz.fetch import FetchFuzzer
from tests.fuzz.harness import Fuzzer
from tests.fuzz.ledger import RecordFuzzer, ResultsFuzzer
from tests.fuzz.libsvm import LibsvmFuzzer
from tests.fuzz.own import OwnTableFuzzer
from tests.fuzz.rules import RuleFuzzer
from tests.fuzz.table import TableFuzzer

FUZZERS = (
    LibsvmFuzzer, TableFuzzer, OwnTableFuzzer, ConfigFuzzer, RecordFuzzer, ResultsFuzzer, BaselineFuzzer,
    CommandFuzzer, FetchFuzzer, RuleFuzzer,
)  # fmt: skip
NAMES = tuple(each.name for each in FUZZERS)


def make_fuzzers(names: str = "") -> list[Fuzzer]:
    """Return the fuzzers with these names, separated by commas, or all of them."""
    wanted = names.split(",") if names else NAMES
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        raise SystemExit(f"there is no fuzzer '{unknown[0]}'; the fuzzers are {', '.join(NAMES)}")
    return [each() for each in FUZZERS if each.name in wanted]
