"""The config of an experiment: YAML in, frozen dataclasses out, every error with file and line."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from olbench.algorithms.definition import Definition, Value
from olbench.errors import UserError
from olbench.places import Placed, from_plain, parse_placed, read_placed

PROTOCOLS = ("online",)
SEARCHES = ("grid", "coordinate", "holdout", "none")
OPTIONS = ("covariance", "projection", "form", "a")


@dataclass(frozen=True)
class DatasetSpec:
    """A data set by its name in the catalogue or by a path, and labels if not the usual ones."""

    name: str
    path: str = ""
    positive: tuple[float, ...] | None = None
    negative: tuple[float, ...] | None = None


@dataclass(frozen=True)
class AlgorithmSpec:
    """An algorithm, its fixed parameters, the values to search, and the options of its covariance."""

    id: str
    params: Mapping[str, Value] = field(default_factory=dict)
    grid: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tuning:
    """How parameters are searched: the way, orders per candidate, and which of equals wins."""

    search: str = "none"
    permutations: int = 1
    ties: str = "last"


@dataclass(frozen=True)
class Config:
    """An experiment as its file describes it."""

    datasets: tuple[DatasetSpec, ...]
    algorithms: tuple[AlgorithmSpec, ...]
    protocol: str = "online"
    paper: str = ""
    seed: int = 0
    permutations: int = 20
    curve: int = 50
    covariance: str = "full"
    tuning: Tuning = Tuning()
    plugins: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the config as plain values that `from_record` reads back."""
        content = asdict(self)
        content["datasets"] = [_said(spec) for spec in content["datasets"]]
        content["algorithms"] = [
            _said({**spec, "options": None}) | spec["options"] for spec in content["algorithms"]
        ]
        return _said(content)


def _said(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if value not in (None, "", {}, ())}


KEYS = [
    "paper", "protocol", "seed", "permutations", "curve", "datasets", "algorithms", "covariance", "tuning",
    "plugins",
]  # fmt: skip


def read_config(path: Path, overrides: Iterable[str] = ()) -> Config:
    """Return the config of a YAML file, with `key=value` overrides as --set takes them."""
    return parse_config(_overridden(read_placed(path), overrides), path.parent)


def data_config(
    data: str, algorithms: str, positive: tuple[float, ...], overrides: Iterable[str] = (),
    plugins: Iterable[str] = (),
) -> Config:  # fmt: skip
    """Return the config of a first look at one data set, without a file: ids separated by commas."""
    labels: dict[str, Any] = {"positive": list(positive)} if positive else {}
    ids = [id.strip() for id in algorithms.split(",") if id.strip()]
    parts = {
        "datasets": from_plain([{"name": data, **labels} if labels else data], data),
        "algorithms": from_plain(ids, "--algorithms"),
    }
    if plugins := list(plugins):
        parts["plugins"] = from_plain(plugins, "--plugin")
    root = Placed(parts, data, dict.fromkeys(parts, data))
    return parse_config(_overridden(root, overrides), Path())


def from_record(content: Any, place: str) -> Config:
    """Return the config that `plain` wrote down."""
    return parse_config(from_plain(content, place), Path())


def _overridden(root: Placed, overrides: Iterable[str]) -> Placed:
    for override in overrides:
        key, separator, text = override.partition("=")
        place = f"--set {override}"
        if not separator or not key:
            raise UserError(f"{place}: write key=value, for example --set permutations=5")
        root = _replaced(root, key.split("."), parse_placed(text or "null", place, one_place=True))
    return root


def _replaced(node: Placed, path: list[str], value: Placed) -> Placed:
    """Return the tree with the value at a dotted path; what is on the way is made where it is missing."""
    if not path:
        return value
    if not isinstance(node.value, dict):
        raise value.fail(f"there is no key '{path[0]}' below a value that is not a mapping")
    below = node.value.get(path[0], Placed({}, value.place))
    content = {**node.value, path[0]: _replaced(below, path[1:], value)}
    return Placed(content, node.place, {**node.keys, path[0]: node.keys.get(path[0], value.place)})


def parse_config(root: Placed, folder: Path) -> Config:
    """Return the config that a tree of placed values describes; paths in it start from `folder`."""
    if not isinstance(root.value, dict):
        raise root.fail("a config is a mapping with the keys datasets and algorithms")
    content = root.mapping("the config", KEYS)
    for key in ("datasets", "algorithms"):
        if key not in content:
            raise root.fail(f"the key '{key}' is missing")
    fields: dict[str, Any] = {}
    if "paper" in content:
        fields["paper"] = _paper(content["paper"])
    if "protocol" in content:
        fields["protocol"] = content["protocol"].choice("protocol", PROTOCOLS)
    for key, low in (("seed", 0), ("permutations", 1), ("curve", 1)):
        if key in content:
            fields[key] = content[key].whole(key, low)
    if "covariance" in content:
        fields["covariance"] = content["covariance"].choice("covariance", ("full", "diag"))
    if "tuning" in content:
        fields["tuning"] = _tuning(content["tuning"])
    if "plugins" in content:
        fields["plugins"] = tuple(_plugin(item, folder) for item in content["plugins"].items("plugins"))
    entries = _Algorithms(fields.get("tuning", Tuning()), fields.get("covariance", "full"))
    return Config(
        datasets=_datasets(content["datasets"], folder),
        algorithms=entries.all(content["algorithms"]),
        **fields,
    )


def _paper(node: Placed) -> str:
    from olbench.papers import load_paper

    id = node.text("paper")
    with _at(node):
        return load_paper(id).id


def _tuning(node: Placed) -> Tuning:
    content = node.mapping("tuning", ["search", "permutations", "ties"])
    fields: dict[str, Any] = {}
    if "search" not in content:
        raise node.fail(f"tuning needs the key 'search': one of {', '.join(SEARCHES)}")
    fields["search"] = content["search"].choice("search", SEARCHES)
    if "permutations" in content:
        fields["permutations"] = content["permutations"].whole("permutations", 1)
    if "ties" in content:
        fields["ties"] = content["ties"].choice("ties", ("last", "first"))
    return Tuning(**fields)


def _plugin(node: Placed, folder: Path) -> str:
    from olbench.algorithms.plugins import load_plugin

    path = folder / node.text("a plugin")
    with _at(node):
        load_plugin(path)
    return str(path.resolve())


@contextmanager
def _at(node: Placed) -> Iterator[None]:
    """Put the place of a node before the errors of those who do not know it."""
    try:
        yield
    except UserError as error:
        raise node.fail(str(error)) from None


def _datasets(node: Placed, folder: Path) -> tuple[DatasetSpec, ...]:
    specs: list[DatasetSpec] = []
    for item in node.items("datasets"):
        spec = _dataset(item, folder)
        if any((spec.name, spec.positive, spec.negative) == (s.name, s.positive, s.negative) for s in specs):
            raise item.fail(f"the data set '{spec.name}' stands here twice")
        if any(spec.name == other.name and (spec.path or other.path) for other in specs):
            raise item.fail(f"two data sets would be called '{spec.name}'; give one of them another name")
        specs.append(spec)
    return tuple(specs)


def _dataset(node: Placed, folder: Path) -> DatasetSpec:
    if not isinstance(node.value, dict):
        return _found(node.text("a data set"), node, folder)
    content = node.mapping("a data set", ["name", "path", "positive", "negative"])
    if "path" in content:
        spec = _file(content["path"].text("path"), content["path"], folder)
        name = content["name"].text("name") if "name" in content else spec.name
    elif "name" in content:
        spec = _found(content["name"].text("name"), content["name"], folder)
        name = spec.name
    else:
        raise node.fail("a data set needs the key 'name' or 'path'")
    return _with_usual_labels(
        DatasetSpec(name, spec.path, _labels(content, "positive"), _labels(content, "negative"))
    )


def _found(name: str, node: Placed, folder: Path) -> DatasetSpec:
    """Return the data set of a name in the catalogue, or else of a path."""
    from olbench.data.catalog import catalog, find

    if name in catalog():
        return DatasetSpec(name)
    if (folder / Path(name).expanduser()).is_file():
        return _file(name, node, folder)
    with _at(node):
        find(name)
    raise AssertionError("find refuses every unknown name")


def _file(name: str, node: Placed, folder: Path) -> DatasetSpec:
    from olbench.data.compressed import base_name

    path = folder / Path(name).expanduser()
    if not path.is_file():
        raise node.fail(f"there is no file {path}")
    return DatasetSpec(base_name(path.name).removesuffix(".csv"), str(path.resolve()))


def _labels(content: Mapping[str, Placed], key: str) -> tuple[float, ...] | None:
    if key not in content:
        return None
    node = content[key]
    for item in node.items(key) if isinstance(node.value, list) else [node]:
        if isinstance(item.value, bool) or not isinstance(item.value, int | float):
            raise item.fail(f"{key} must be a label or a list of labels, not {item.shown()}")
    values = [item.value for item in node.value] if isinstance(node.value, list) else [node.value]
    return tuple(float(value) for value in values)


def _with_usual_labels(spec: DatasetSpec) -> DatasetSpec:
    """Leave out labels that are the catalogue's own: the data set then keeps its name and its orders."""
    from olbench.data.catalog import catalog

    entry = None if spec.path else catalog()[spec.name]
    usual = entry is not None and entry.positive == spec.positive and entry.negative == spec.negative
    return DatasetSpec(spec.name) if usual else spec


class _Algorithms:
    """Reads the entries of `algorithms` in the light of `tuning` and `covariance`."""

    def __init__(self, tuning: Tuning, covariance: str):
        self.tuning, self.covariance = tuning, covariance

    def all(self, node: Placed) -> tuple[AlgorithmSpec, ...]:
        """Return the algorithms, no two of them alike."""
        specs: list[AlgorithmSpec] = []
        for item in node.items("algorithms"):
            spec = self.one(item)
            if spec in specs:
                raise item.fail(f"the algorithm '{spec.id}' stands here twice with the same settings")
            specs.append(spec)
        return tuple(specs)

    def one(self, node: Placed) -> AlgorithmSpec:
        """Return the algorithm of an entry: an id, or a mapping with one."""
        from olbench.algorithms import get_definition

        content = {"id": node}
        if isinstance(node.value, dict):
            content = node.mapping("an algorithm", ["id", "params", "grid", *OPTIONS])
        if "id" not in content:
            raise node.fail("an algorithm needs the key 'id'")
        id = content["id"].text("the id of an algorithm")
        with _at(content["id"]):
            definition = get_definition(id)
        params = self._params(content, definition)
        return AlgorithmSpec(
            id, params, self._grid(content, definition, params), self._options(content, definition)
        )

    def _params(self, content: Mapping[str, Placed], definition: Definition) -> dict[str, Value]:
        """Return the parameters that are fixed, checked."""
        if "params" not in content:
            return {}
        given = content["params"]
        if not isinstance(given.value, dict):
            raise given.fail(f"params must be a mapping, not {given.shown()}")
        return {name: _checked(definition, name, item) for name, item in given.value.items()}

    def _grid(
        self, content: Mapping[str, Placed], definition: Definition, params: Mapping[str, Value]
    ) -> dict[str, tuple[Value, ...]]:
        """Return what is searched: the given grid, or when tuning the papers' for what is not fixed."""
        if "grid" not in content:
            searched = definition.grid if self.tuning.search != "none" else {}
            return {name: values for name, values in searched.items() if name not in params}
        node = content["grid"]
        if self.tuning.search == "none":
            raise node.fail("a grid needs tuning; add for example tuning: {search: grid}")
        if not isinstance(node.value, dict) or not node.value:
            raise node.fail("grid must be a mapping of parameters to lists, and not empty")
        for name in node.value:
            if name in params:
                raise UserError(f"{node.keys[name]}: {name} is both fixed in params and searched in grid")
        return {name: _values(definition, name, item) for name, item in node.value.items()}

    def _options(self, content: Mapping[str, Placed], definition: Definition) -> dict[str, Any]:
        """Return how the covariance of a second-order algorithm is kept, in full."""
        from olbench.learners import make_algorithm

        given = {name: content[name].value for name in OPTIONS if name in content}
        if definition.order != "second":
            if given:
                key = next(iter(given))
                raise content[key].fail(f"{definition.id} has no covariance, so '{key}' means nothing to it")
            return {}
        node = content.get("covariance", content["id"])
        with _at(node):
            made = make_algorithm(definition.id, **{"covariance": self.covariance, **given})
        detail = {"projection": made.projection} if made.covariance == "diag" else {"form": made.form}
        return {"covariance": made.covariance, **detail, "a": float(made.a)}


def _values(definition: Definition, name: str, node: Placed) -> tuple[Value, ...]:
    values = [_checked(definition, name, item) for item in node.items(f"the grid of {name}")]
    if len(set(values)) < len(values):
        raise node.fail(f"the grid of {name} has a value twice")
    return tuple(values)


def _checked(definition: Definition, name: str, node: Placed) -> Value:
    with _at(node):
        return definition.resolve({name: node.value})[name]
