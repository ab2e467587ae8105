"""The config of an experiment: YAML in, frozen dataclasses out, every error with file and line."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from olbench.algorithms import definitions, get_definition
from olbench.algorithms.algorithm import Algorithm, make_algorithm
from olbench.algorithms.definition import Definition, Value
from olbench.algorithms.plugins import load_plugin
from olbench.algorithms.spec import NATIVE_KEYS, OPTION_KEYS, AlgorithmSpec
from olbench.data.spec import ALL_ROWS, FITTED_SCALES, PAST_ROWS, RUNNING, TRAINING_ROWS, DatasetSpec, Reading
from olbench.errors import UserError, expand_home, is_file, is_unicode, shorten
from olbench.plugins import find_paper, is_paper_file
from olbench.protocols import Protocol, get_protocol, protocols
from olbench.protocols.specs import Experiment, Tuning
from olbench.structs import (
    Key,
    Node,
    as_node,
    choice,
    from_plain,
    keys_of,
    mapping,
    parse_yaml,
    read_keys,
    read_yaml,
    select,
    text,
)

ALL = "all"
DEEPEST = 20
PARTS = ("datasets", "algorithms", "tuning")
ENTRY_KEYS = (*keys_of(AlgorithmSpec), *OPTION_KEYS)
READING_KEYS = keys_of(Reading, "fitted")


def read_config(path: Path, overrides: Iterable[str] = ()) -> Experiment:
    return parse_config(apply_overrides(read_yaml(path), overrides), path.parent)


def data_config(
    data: str,
    algorithms: str,
    positive: tuple[float | str, ...],
    overrides: Iterable[str] = (),
    plugins: Iterable[str] = (),
    path: str = "",
    reading: Mapping[str, Any] | None = None,
) -> Experiment:
    """Return the config of a first look at one data set, without a file: ids separated by commas.

    With a path, `data` is only what the data set is called. `reading` has the keys for a user's own file.
    """
    given: dict[str, Any] = {"positive": list(positive)} if positive else {}
    given |= ({"path": path} if path else {}) | dict(reading or {})
    ids = [id.strip() for id in algorithms.split(",") if id.strip()]
    parts = {
        "datasets": from_plain([{"name": data, **given} if given else data], data),
        "algorithms": from_plain(ALL if ids == [ALL] else ids, "--algorithms"),
    }
    if plugins := list(plugins):
        parts["plugins"] = from_plain(plugins, "--plugin")
    root = Node(parts, data, dict.fromkeys(parts, data))
    return parse_config(apply_overrides(root, overrides), Path())


def apply_overrides(root: Node, overrides: Iterable[str]) -> Node:
    for override in overrides:
        key, separator, value = override.partition("=")
        place = f"--set {shorten(override, 200)}"
        if not separator or not key:
            raise UserError(f"{place}: write key=value, for example --set permutations=5")
        path = key.split(".")
        if len(path) > DEEPEST:
            raise UserError(f"--set {shorten(override)}: no key of a config is below {DEEPEST} others")
        root = _replace(root, path, parse_yaml(value or "null", place, one_place=True))
    return root


def _replace(node: Node, path: list[str], value: Node) -> Node:
    if not path:
        return value
    if not isinstance(node.value, dict):
        raise value.fail(f"there is no key '{path[0]}' below a value that is not a mapping")
    below = node.value.get(path[0], Node({}, value.place))
    content = {**node.value, path[0]: _replace(below, path[1:], value)}
    return Node(content, node.place, {**node.keys, path[0]: node.keys.get(path[0], value.place)})


def parse_config(root: Node, folder: Path) -> Experiment:
    if not isinstance(root.value, dict):
        raise root.fail("a config is a mapping with the keys datasets and algorithms")
    # Plugins come first: they may define the protocol and the algorithms that the other keys name.
    plugins = _load_plugins(root.value.get("plugins"), folder)
    protocol = _find_protocol(root.value.get("protocol"))
    kind: Any = type(protocol.experiment)
    keys = [replace(key, read=as_node) if key.name in PARTS else key for key in keys_of(kind)]
    given = read_keys(keys, root, "the config")
    given |= {"plugins": plugins, "protocol": protocol.id}
    if "paper" in given:
        given["paper"] = _find_paper(root.value["paper"], folder)
    given["tuning"] = tuning = _tuning(given.get("tuning"), protocol)
    listed = given["datasets"]
    given["datasets"] = _datasets(listed, folder, protocol)
    covariance = given.get("covariance", Experiment.covariance)
    given["algorithms"] = _algorithms(given["algorithms"], protocol, tuning, covariance)
    experiment: Experiment = kind(**given)
    with place_errors(listed):
        return experiment.extend()


def _load_plugins(node: Node | None, folder: Path) -> tuple[str, ...]:
    paths = []
    for item in node.items("plugins") if node is not None else ():
        path = folder / text(item, "a plugin")
        with place_errors(item):
            load_plugin(path)
        paths.append(str(path.resolve()))
    return tuple(paths)


def _find_protocol(node: Node | None) -> Protocol:
    known = tuple(protocol.id for protocol in protocols())
    return get_protocol("online" if node is None else choice(*known)(node, "protocol"))


class PlacedText(str):
    """A text of a config that is used later, with its place for an error."""

    place: str


def _find_paper(node: Node, folder: Path) -> PlacedText:
    """Return the id of a paper, or the path of its file, which is read later."""
    name = text(node, "paper")
    with place_errors(node):
        if is_paper_file(name):
            name = str((folder / expand_home(name)).resolve())
        find_paper(name)
    paper = PlacedText(name)
    paper.place = node.place
    return paper


def tuning_keys(protocol: Protocol) -> list[Key]:
    """Return the keys of `tuning`; the first, `search`, must be given."""
    kind: Any = type(protocol.experiment.tuning)
    search, *others = keys_of(kind)
    return [replace(search, default=MISSING), *others]


def searches(protocol: Protocol) -> list[str]:
    return list(tuning_keys(protocol)[0].schema["enum"])


def _tuning(node: Node | None, protocol: Protocol) -> Tuning:
    if node is None:
        return protocol.experiment.tuning
    if isinstance(node.value, dict) and "search" not in node.value:
        raise node.fail(f"tuning needs the key 'search': one of {', '.join(searches(protocol))}")
    return type(protocol.experiment.tuning)(**read_keys(tuning_keys(protocol), node, "tuning"))


@contextmanager
def place_errors(node: Node) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise node.fail(str(error)) from None


def _datasets(node: Node, folder: Path, protocol: Protocol) -> tuple[DatasetSpec, ...]:
    specs: list[DatasetSpec] = []
    for item in node.items("datasets"):
        spec = _dataset(item, folder)
        if spec.reading.scale in FITTED_SCALES and protocol.fitted_on == TRAINING_ROWS:
            spec = replace(spec, reading=replace(spec.reading, fitted=TRAINING_ROWS))
        with place_errors(item):
            _check_data(spec, specs, protocol)
        if not is_unicode(spec.name):
            raise UserError(
                f"the name of the data set {spec.name!a} is not valid Unicode; rename the file, or give "
                "a path and a name of its own in a config"
            )
        specs.append(spec)
    return tuple(specs)


def _check_data(spec: DatasetSpec, others: Iterable[DatasetSpec], protocol: Protocol) -> None:
    reading, fitted_on = spec.reading, protocol.fitted_on
    if reading.scale in FITTED_SCALES and fitted_on not in (ALL_ROWS, TRAINING_ROWS):
        other = "running or unit" if fitted_on == PAST_ROWS else "unit"
        raise UserError(
            f"scale: {reading.scale} would be fitted on rows that the protocol {protocol.id} tests; use "
            f"scale: {other}, or scale the file"
        )
    if reading.scale == RUNNING and fitted_on != PAST_ROWS:
        raise UserError(
            f"scale: {RUNNING} goes by the order of the file, and the protocol {protocol.id} has orders of "
            "its own; use protocol: stream, or another scale"
        )
    if reading.missing == "mean" and fitted_on != ALL_ROWS:
        raise UserError(
            f"missing: mean would be taken over rows that the protocol {protocol.id} tests; use zero or drop"
        )
    if replace(spec, path="") in [replace(other, path="") for other in others]:
        raise UserError(f"the data set '{spec.name}' is listed twice")
    if any(spec.name == other.name and (spec.path or other.path) for other in others):
        raise UserError(f"two data sets would be called '{spec.name}'; give one of them another name")
    if spec.labels and not protocol.multiclass:
        able = ", ".join(known.id for known in protocols() if known.multiclass)
        raise UserError(
            f"labels: {spec.labels} has no meaning for the protocol {protocol.id}; it runs under protocol: "
            f"{able}"
        )


def _dataset(node: Node, folder: Path) -> DatasetSpec:
    from olbench.data.prepare.labels import read_label
    from olbench.data.readers.tables.csv import read_delimiter

    if not isinstance(node.value, dict):
        return find_dataset(text(node, "a data set"), node, folder)
    keys = [replace(key, default="") for key in (*keys_of(DatasetSpec), *READING_KEYS)]
    given, places = read_keys(keys, node, "a data set"), node.value
    if "path" in given:
        spec = _find_file(given["path"], places["path"], folder)
        name = given.get("name", spec.name)
    elif "name" in given:
        spec = find_dataset(given["name"], places["name"], folder)
        name = spec.name
    else:
        raise node.fail("a data set needs the key 'name' or 'path'")
    if "labels" in given and given.keys() & {"positive", "negative"}:
        raise places["labels"].fail("positive and negative cannot be combined with labels: all")
    for key in ("positive", "negative"):
        if not spec.path and any(isinstance(label, str) for label in given.get(key, ())):
            raise places[key].fail(f"{key} must be a label or a list of labels, not {places[key].shown()}")
        if key in given:
            with place_errors(places[key]):
                given[key] = tuple(map(read_label, given[key]))
    if "delimiter" in given:
        with place_errors(places["delimiter"]):
            given["delimiter"] = read_delimiter(given["delimiter"])
    reading = select(READING_KEYS, given)
    if reading and not spec.path:
        key = next(iter(reading))
        raise places[key].fail(
            f"{name} is read as the catalogue says; {key} is for your own files, which have the key path"
        )
    labels = select(keys_of(DatasetSpec, "name", "path"), given)
    return _with_usual_labels(DatasetSpec(name, spec.path, **labels, reading=Reading(**reading)))


def find_dataset(name: str, node: Node, folder: Path) -> DatasetSpec:
    from olbench.data.catalog import catalog, find
    from olbench.data.readers.compressed import STDIN

    if name in catalog():
        return DatasetSpec(name)
    if name == STDIN:
        raise node.fail(
            "a config cannot read standard input, which passes only once; name a file, or use `olbench run -`"
        )
    with place_errors(node):
        if not is_file(folder / expand_home(name)):
            find(name)  # refuses every unknown name
    return _find_file(name, node, folder)


def _find_file(name: str, node: Node, folder: Path) -> DatasetSpec:
    from olbench.data.readers.compressed import base_name
    from olbench.data.readers.tables import plain_name

    with place_errors(node):
        path = folder / expand_home(name)
    if not is_file(path):
        raise node.fail(f"there is no file {path}")
    return DatasetSpec(plain_name(base_name(path.name)), str(path.resolve()))


def _with_usual_labels(spec: DatasetSpec) -> DatasetSpec:
    """Leave out labels that are the catalogue's own: the data set then keeps its name and its orders."""
    from olbench.data.catalog import catalog

    if spec.path or spec.labels:
        return spec
    entry = catalog()[spec.name]
    usual = (entry.positive, entry.negative) == (spec.positive, spec.negative)
    return DatasetSpec(spec.name) if usual else spec


def _algorithms(node: Node, protocol: Protocol, tuning: Tuning, covariance: str) -> tuple[AlgorithmSpec, ...]:
    if node.value == ALL:
        return tuple(_able_algorithms(node, protocol, tuning, covariance))
    specs: list[AlgorithmSpec] = []
    for item in node.items("algorithms"):
        spec = _algorithm(item, protocol, tuning, covariance)
        if spec in specs:
            raise item.fail(f"the algorithm '{spec.id}' is listed twice with the same settings")
        if spec.name and any(spec.name in (other.name, other.id) for other in specs):
            raise item.fail(f"two algorithms would be called '{spec.name}'; give one of them another name")
        specs.append(spec)
    return tuple(specs)


def _able_algorithms(
    node: Node, protocol: Protocol, tuning: Tuning, covariance: str
) -> Iterator[AlgorithmSpec]:
    import_module("olbench.kernels.compile")  # without a compiler all would be refused
    for definition in definitions():
        if not definition.only_native:
            with suppress(UserError):
                yield _algorithm(Node(definition.id, node.place), protocol, tuning, covariance)


def _algorithm(node: Node, protocol: Protocol, tuning: Tuning, covariance: str) -> AlgorithmSpec:
    if not isinstance(node.value, dict):
        node = Node({"id": node}, node.place, {"id": node.place})
    places = node.value
    checked = {"params": mapping(as_node), "grid": as_node}
    keys = [replace(key, read=checked.get(key.name, key.read)) for key in ENTRY_KEYS]
    given = read_keys([*keys, *protocol.experiment.entry_keys], node, "an algorithm")
    # Without a compiler no trial can run. That is not a mistake in the config, so no line of it is named.
    import_module("olbench.kernels.compile")
    with place_errors(places["id"]):
        definition = get_definition(given["id"])
        protocol.refuse(definition)
    if "multiclass" in given and not protocol.multiclass:
        raise places["multiclass"].fail(f"the protocol {protocol.id} has two classes; leave multiclass out")
    if definition.only_native and not protocol.multiclass:
        raise places["id"].fail(f"{definition.id} learns several classes; the protocol {protocol.id} has two")
    params = {name: _check_value(definition, name, item) for name, item in given.get("params", {}).items()}
    return AlgorithmSpec(
        # An entry may name the algorithm by its title; records have its id.
        **{**select(keys_of(AlgorithmSpec, "params", "grid"), given), "id": definition.id},
        params=params,
        grid=_grid(given.get("grid"), definition, params, tuning),
        options=_options(select(OPTION_KEYS, given), places, definition, covariance),
        settings=select(protocol.experiment.entry_keys, given),
    )


def _grid(
    node: Node | None, definition: Definition, params: Mapping[str, Value], tuning: Tuning
) -> dict[str, tuple[Value, ...]]:
    """Return the values to search: the given grid, or when tuning the papers' for what is not fixed."""
    if node is None:
        return dict(definition.grid_beside(params)) if tuning.search != "none" else {}
    if tuning.search == "none":
        raise node.fail("a grid needs tuning; add for example tuning: {search: grid}")
    if not isinstance(node.value, dict) or not node.value:
        raise node.fail("grid must be a mapping of parameters to lists, and not empty")
    grid = {}
    for name, items in node.value.items():
        if name in params:
            raise UserError(f"{node.keys[name]}: {name} is both fixed in params and searched in grid")
        values = [_check_value(definition, name, item) for item in items.items(f"the grid of {name}")]
        if len(set(values)) < len(values):
            raise items.fail(f"the grid of {name} has a value twice")
        grid[name] = tuple(values)
    return grid


def _options(
    given: Mapping[str, Any], places: Mapping[str, Node], definition: Definition, covariance: str
) -> dict[str, Any]:
    """Return how several classes are learnt, and how the covariance of a second-order algorithm is kept.

    One-vs-rest, the default, is not named: trials on record do not name it either.
    """
    several = select(NATIVE_KEYS, given)
    if definition.order != "second":
        for key in given.keys() - several.keys():
            raise places[key].fail(f"{definition.id} has no covariance, so '{key}' does not apply")
        with place_errors(places.get("allocation", places.get("multiclass", places["id"]))):
            return _name_native(make_algorithm(definition.id, **several))
    for name in given.keys() & {parameter.name for parameter in definition.parameters}:
        raise places[name].fail(f"{name} is a parameter of {definition.id}; write params: {{{name}: ...}}")
    # A matrix, the default of a config, is one per class for a native learner, and a diagonal for some rules.
    is_native = definition.only_native or several.get("multiclass") == "native"
    is_unusual = is_native or definition.root_step
    usual = {} if is_unusual and covariance == "full" else {"covariance": covariance}
    places_of_errors = ("covariance", "kernel", "multiclass", "id")
    with place_errors(places[next(key for key in places_of_errors if key in places)]):
        made = make_algorithm(definition.id, **{**usual, **given})
    if made.kernel is None:
        detail = "projection" if made.covariance == "diag" else "form"
        forgetting = {"forgetting": float(made.forgetting)} if made.forgetting < 1.0 else {}
        return {
            "covariance": made.covariance, detail: getattr(made, detail), "a": float(made.a), **forgetting,
            **_name_native(made),
        }  # fmt: skip
    # Only the settings that mean something to the kernel.
    used = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "degree", "coef0")}[made.kernel.name]
    kernel = {"kernel": made.kernel.name, **{name: getattr(made.kernel, name) for name in used}}
    return {"covariance": made.covariance, "a": float(made.a), **kernel}


def _name_native(made: Algorithm) -> dict[str, Any]:
    allocation = {"allocation": made.allocation} if made.allocation != "max" else {}
    return {"multiclass": "native", **allocation} if made.multiclass == "native" else {}


def _check_value(definition: Definition, name: str, node: Node) -> Value:
    if isinstance(node.value, dict | list):
        raise node.fail(f"{definition.id}: {name} must be one value, not {node.shown()}")
    with place_errors(node):
        return definition.resolve({name: node.value})[name]
