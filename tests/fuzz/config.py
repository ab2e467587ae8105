"""Configs: whatever the YAML says, a plan or a sentence with its place."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import yaml

from olbench.config.reading import read_config
from olbench.data.source import find_sources
from olbench.engine.runner import refuse_too_many
from olbench.errors import UserError
from olbench.protocols import get_protocol
from tests.fuzz.harness import Difference, expect_sentence
from tests.fuzz.mutate import ODD_VALUES, change_bytes, change_lines, change_tree

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
#: Data sets that need neither a download nor seconds to load.
BUNDLED = ("breast-cancer", "digits-1-vs-7", "synthetic", "synthetic-noise", "advice-synthetic")
ALGORITHMS: list[Any] = [
    "perceptron", "pa1", "romma", "sop", "arow", "scw1", "cw-var", "sgd", "nherd",
    {"id": "arow", "params": {"r": 1.0}}, {"id": "arow", "covariance": "diag", "projection": "exact"},
    {"id": "scw1", "grid": {"C": [0.5, 1.0], "eta": [0.75, 0.9]}}, {"id": "cw", "covariance": "diag",
    "a": 2.0},
    {"id": "pa2", "name": "second", "params": {"C": 2}}, {"id": "arow", "kernel": "rbf", "gamma": 0.5},
]  # fmt: skip
TUNINGS = ({"search": "grid"}, {"search": "coordinate", "permutations": 1, "ties": "first"})
ODD_TEXTS = [
    "~nosuchuser/x", "!!timestamp 2020", "!!int x", "!!float 1e", "!!binary =", "!!set {a}", "2020-01-01",
    "1:2:3",
    "0o7", "0b1", ".nan", "-.inf", "1e400", "9" * 400, "[" * 60 + "]" * 60, "&a [*a]",
    "!!python/object:os.system x",
    "<<: {seed: 1}", "? [a, b]\n: c", "'\\", '"\\x0', "%YAML 9.9", "---\n...\n---", "\t", "*a", "=", "~",
    "../x.yaml",
]  # fmt: skip


class ConfigFuzzer:
    """Configs that ship and configs from the grammar, with a value, a line or a byte changed."""

    name = "config"

    def __init__(self) -> None:
        self.shipped = [path.read_bytes() for path in sorted(CONFIGS.glob("*.yaml"))]
        self.trees = [yaml.safe_load(content) for content in self.shipped]

    def make(self, random: random.Random) -> bytes:
        """Return the text of a config."""
        if random.random() < 0.15:
            return random.choice((change_bytes, change_lines))(random, random.choice(self.shipped))
        tree = self._shipped_tree(random) if random.random() < 0.3 else _tree(random)
        for _ in range(random.choice((0, 1, 1, 2))):
            tree = change_tree(random, tree)
        text = _as_yaml(tree)
        match random.randrange(8):
            case 0:
                return change_bytes(random, text)
            case 1:
                return change_lines(random, text)
            case 2:
                key = random.choice(
                    (b"seed", b"paper", b"datasets", b"algorithms", b"curve", b"tuning", b"x")
                )
                return text + b"\n" + key + b": " + random.choice(ODD_TEXTS).encode() + b"\n"
            case _:
                return text

    def _shipped_tree(self, random: random.Random) -> dict[str, Any]:
        """Return a config that ships, of any protocol, often with data that needs no download."""
        tree = dict(random.choice(self.trees))
        if random.random() < 0.8:
            tree["datasets"] = random.sample(BUNDLED, random.choice((1, 1, 2)))
        return tree

    def check(self, content: bytes, folder: Path) -> str:
        """Read and plan; what is refused names the file."""
        path = folder / "fuzzed.yaml"
        path.write_bytes(content)
        try:
            config = read_config(path)
        except UserError as error:
            expect_sentence(error)
            if str(path) not in str(error):
                raise Difference(f"the refusal names no place: {error}") from None
            return "refused"
        try:
            _plan(config)
        except UserError as error:
            expect_sentence(error)
            return "refused"
        return "accepted"


def _plan(config: Any) -> None:
    """Plan what needs no download, up to the first trials; what a run writes down must read back the same."""
    plain = json.loads(json.dumps(config.plain()))
    if json.loads(json.dumps(type(config).from_plain(plain).plain())) != plain:
        raise Difference("the config is not the same when it is written down and read back")
    if all(spec.name in BUNDLED and spec.path is None and spec.positive is None for spec in config.datasets):
        sources, _ = find_sources(config.datasets, False)
        cells = get_protocol(config.protocol).cells(config, sources)
        refuse_too_many(cells)


def _tree(random: random.Random) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "datasets": random.sample(BUNDLED, random.choice((1, 1, 2))),
        "algorithms": random.sample(ALGORITHMS, random.choice((1, 2, 3))),
    }
    extra: dict[str, Any] = {
        "seed": random.choice((0, 3, 2012)),
        "permutations": random.choice((1, 5, 20)),
        "curve": random.choice((1, 10, 50)),
        "covariance": random.choice(("full", "diag")),
        "protocol": random.choice(("online", "online", "crossval")),
        "paper": "scw2012",
        "tuning": random.choice(
            ({"search": "grid"}, {"search": "coordinate", "permutations": 1, "ties": "first"})
        ),
        "folds": random.choice((2, 5)),
        random.choice(("plugins", "epochs", "positive", "jobs")): random.choice(ODD_VALUES),
    }
    for name in random.sample(list(extra), random.randint(0, 4)):
        tree[name] = extra[name]
    if random.random() < 0.15:
        tree["datasets"] = [{"name": "breast-cancer", "positive": random.choice((1, [1], 0.5))}]
    return dict(itertools.islice(tree.items(), 12))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _as_yaml(tree: Any) -> bytes:
    try:
        return yaml.dump(tree, Dumper=_Dumper, allow_unicode=True).encode()
    except (UnicodeEncodeError, ValueError):  # half of a character, or thousands of digits
        return repr(tree).encode("utf-8", "surrogatepass")
