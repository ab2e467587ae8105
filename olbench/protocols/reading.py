"""Read the config of an experiment: from YAML to frozen dataclasses; errors name the file and line."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from olbench import structs
from olbench.algorithms import definitions, get_definition, load_plugin
from olbench.algorithms.spec import OPTION_KEYS, AlgorithmSpec, check_value, read_grid, read_options
from olbench.data.load import read_dataset
from olbench.data.spec import ALL_ROWS, FITTED_SCALES, PAST_ROWS, RUNNING, TRAINING_ROWS, DatasetSpec
from olbench.errors import UserError, expand_home, is_unicode
from olbench.plugins import find_paper, is_paper_file
from olbench.protocols import Protocol, get_protocol, protocols
from olbench.protocols.specs import Experiment, Tuning

ALL = "all"
PARTS = ("datasets", "algorithms", "tuning")
ENTRY_KEYS = (*structs.keys_of(AlgorithmSpec), *OPTION_KEYS)


def read_config(path: Path, overrides: Iterable[str] = ()) -> Experiment:
    return parse_config(structs.apply_overrides(structs.read_yaml(path), overrides), path.parent)


def data_config(
    data: str,
    algorithms: str,
    positive: tuple[float | str, ...],
    overrides: Iterable[str] = (),
    plugins: Iterable[str] = (),
    path: str = "",
    reading: Mapping[str, Any] | None = None,
) -> Experiment:
    """Return the config of a first look at one data set, without a file; ids are comma-separated.

    With a path, `data` is only the name of the data set. `reading` has the keys for a user's own file; with
    labels: all, algorithms learn several classes natively if they can.
    """
    given: dict[str, Any] = {"positive": list(positive)} if positive else {}
    given |= ({"path": path} if path else {}) | dict(reading or {})
    ids = [id.strip() for id in algorithms.split(",") if id.strip()]
    entries = [prefer_native(id) for id in ids] if "labels" in given else ids
    parts = {
        "datasets": structs.from_plain([{"name": data, **given} if given else data], data),
        "algorithms": structs.from_plain(ALL if ids == [ALL] else entries, "--algorithms"),
    }
    if plugins := list(plugins):
        parts["plugins"] = structs.from_plain(plugins, "--plugin")
    root = structs.Node(parts, data, dict.fromkeys(parts, data))
    return parse_config(structs.apply_overrides(root, overrides), Path())


def prefer_native(id: str) -> Any:
    from olbench.algorithms.algorithm import make_algorithm

    with suppress(UserError):
        make_algorithm(id, multiclass="native")
        return {"id": id, "multiclass": "native"}
    return id


def parse_config(root: structs.Node, folder: Path) -> Experiment:
    if not isinstance(root.value, dict):
        raise root.fail("a config must be a mapping with the keys datasets and algorithms")
    # Plugins come first: they may define the protocol and the algorithms named by other keys.
    plugins = _load_plugins(root.value.get("plugins"), folder)
    protocol = _find_protocol(root.value.get("protocol"))
    kind: Any = type(protocol.experiment)
    keys = [replace(key, read=structs.as_node) if key.name in PARTS else key for key in structs.keys_of(kind)]
    others: Any = [type(each.experiment) for each in protocols()]
    elsewhere = {
        key.name: f"{key.name} does not apply to protocol: {protocol.id}"
        for other in others
        for key in structs.keys_of(other)
    }
    given = structs.read_keys(keys, root, "the config", elsewhere)
    given |= {"plugins": plugins, "protocol": protocol.id}
    if "paper" in given:
        given["paper"] = _find_paper(root.value["paper"], folder)
    given["tuning"] = tuning = _tuning(given.get("tuning"), protocol)
    listed = given["datasets"]
    given["datasets"] = _datasets(listed, folder, protocol)
    covariance = given.get("covariance", Experiment.covariance)
    given["algorithms"] = _algorithms(given["algorithms"], protocol, tuning, covariance)
    experiment: Experiment = kind(**given)
    with structs.place_errors(listed):
        return experiment.extend()


def _load_plugins(node: structs.Node | None, folder: Path) -> tuple[str, ...]:
    paths = []
    for item in node.items("plugins") if node is not None else ():
        path = folder / structs.text(item, "a plugin")
        with structs.place_errors(item):
            load_plugin(path)
        paths.append(str(path.resolve()))
    return tuple(paths)


def _find_protocol(node: structs.Node | None) -> Protocol:
    known = tuple(protocol.id for protocol in protocols())
    return get_protocol("online" if node is None else structs.choice(*known)(node, "protocol"))


class PlacedText(str):
    """A text of a config that is used later, with its place for error messages."""

    place: str


def _find_paper(node: structs.Node, folder: Path) -> PlacedText:
    """Return the id of a paper, or the path of its file, which is read later."""
    name = structs.text(node, "paper")
    with structs.place_errors(node):
        if is_paper_file(name):
            name = str((folder / expand_home(name)).resolve())
        find_paper(name)
    paper = PlacedText(name)
    paper.place = node.place
    return paper


def tuning_keys(protocol: Protocol) -> list[structs.Key]:
    """Return the keys of `tuning`; the first, `search`, must be given."""
    kind: Any = type(protocol.experiment.tuning)
    search, *others = structs.keys_of(kind)
    return [replace(search, default=MISSING), *others]


def searches(protocol: Protocol) -> list[str]:
    return list(tuning_keys(protocol)[0].schema["enum"])


def _tuning(node: structs.Node | None, protocol: Protocol) -> Tuning:
    if node is None:
        return protocol.experiment.tuning
    keys = tuning_keys(protocol)
    if "search" not in node.mapping("tuning", [key.name for key in keys]):
        raise node.fail(f"tuning needs the key 'search': one of {', '.join(searches(protocol))}")
    return type(protocol.experiment.tuning)(**structs.read_keys(keys, node, "tuning"))


def _datasets(node: structs.Node, folder: Path, protocol: Protocol) -> tuple[DatasetSpec, ...]:
    specs: list[DatasetSpec] = []
    for item in node.items("datasets"):
        spec = read_dataset(item, folder)
        if spec.reading.scale in FITTED_SCALES and protocol.experiment.fitted_on == TRAINING_ROWS:
            spec = replace(spec, reading=replace(spec.reading, fitted=TRAINING_ROWS))
        with structs.place_errors(item):
            _check_data(spec, specs, protocol)
        if not is_unicode(spec.name):
            raise UserError(
                f"the name of the data set {spec.name!a} is not valid Unicode; rename the file, or give it "
                "a name in a config"
            )
        specs.append(spec)
    return tuple(specs)


def _check_data(spec: DatasetSpec, others: Iterable[DatasetSpec], protocol: Protocol) -> None:
    reading, fitted_on = spec.reading, protocol.experiment.fitted_on
    if reading.scale in FITTED_SCALES and fitted_on not in (ALL_ROWS, TRAINING_ROWS):
        other = "running or unit" if fitted_on == PAST_ROWS else "unit"
        raise UserError(
            f"scale: {reading.scale} would be fitted on rows that the protocol {protocol.id} tests; use "
            f"scale: {other}, or scale the file yourself"
        )
    if reading.scale == RUNNING and fitted_on != PAST_ROWS:
        raise UserError(
            f"scale: {RUNNING} needs the order of the file, which the protocol {protocol.id} changes; use "
            "protocol: stream, or another scale"
        )
    if reading.missing == "mean" and fitted_on != ALL_ROWS:
        raise UserError(
            f"missing: mean would use rows that the protocol {protocol.id} tests; use zero or drop"
        )
    if replace(spec, path="") in [replace(other, path="") for other in others]:
        raise UserError(f"the data set '{spec.name}' is listed twice")
    if any(spec.name == other.name and (spec.path or other.path) for other in others):
        raise UserError(f"two data sets would be called '{spec.name}'; give one of them another name")
    if spec.labels and not protocol.experiment.multiclass:
        able = ", ".join(known.id for known in protocols() if known.experiment.multiclass)
        raise UserError(
            f"the protocol {protocol.id} does not support labels: {spec.labels}; use protocol: {able}"
        )


def _algorithms(
    node: structs.Node, protocol: Protocol, tuning: Tuning, covariance: str
) -> tuple[AlgorithmSpec, ...]:
    # Without a compiler no trial can run. That is not an error in the config, so no line of it is named.
    import_module("olbench.kernels.compile")
    specs: list[AlgorithmSpec] = []
    if node.value == ALL:
        for id in (each.id for each in definitions() if not each.only_native):
            with suppress(UserError):
                specs.append(_algorithm(structs.Node(id, node.place), protocol, tuning, covariance))
        return tuple(specs)
    # Sets, because a config may have many thousand entries.
    alike, names, ids = defaultdict[Any, list[AlgorithmSpec]](list), set[str](), set[str]()
    for item in node.items("algorithms"):
        spec = _algorithm(item, protocol, tuning, covariance)
        same = alike[spec.id, frozenset(spec.params.items())]
        if spec in same:
            raise item.fail(f"the algorithm '{spec.id}' is listed twice with the same settings")
        called = spec.name or spec.id
        if called in names or spec.name in ids:
            raise item.fail(f"'{called}' names two algorithms, or is the id of another; choose another name")
        same.append(spec)
        names |= {spec.name} - {""}
        ids.add(spec.id)
        specs.append(spec)
    return tuple(specs)


def _algorithm(node: structs.Node, protocol: Protocol, tuning: Tuning, covariance: str) -> AlgorithmSpec:
    if not isinstance(node.value, dict):
        node = structs.Node({"id": node}, node.place, {"id": node.place})
    places = node.value
    parameters = {"label": "reports call an algorithm by its name; write name: ... instead of label"}
    with suppress(KeyError, UserError):
        id = structs.text(places["id"], "id")
        names = [each.name for each in get_definition(id).parameters]
        parameters |= {
            name: f"{name} is a parameter of {id}; write params: {{{name}: ...}}" for name in names
        }
    checked = {"params": structs.mapping(structs.as_node), "grid": structs.as_node}
    keys = [replace(key, read=checked.get(key.name, key.read)) for key in structs.keys_of(AlgorithmSpec)]
    keys += [key for key in OPTION_KEYS if key.name not in parameters]
    given = structs.read_keys([*keys, *protocol.experiment.entry_keys], node, "an algorithm", parameters)
    with structs.place_errors(places["id"]):
        definition = get_definition(given["id"])
        protocol.refuse(definition)
    if "multiclass" in given and not protocol.experiment.multiclass:
        raise places["multiclass"].fail(
            f"the protocol {protocol.id} supports two classes only; remove multiclass"
        )
    if definition.only_native and not protocol.experiment.multiclass:
        raise places["id"].fail(
            f"{definition.id} needs several classes; the protocol {protocol.id} supports only two"
        )
    params = {name: check_value(definition, name, item) for name, item in given.get("params", {}).items()}
    options = structs.select(OPTION_KEYS, given)
    grid = read_grid(given.get("grid"), definition, {**options, **params}, tuning.search != "none")
    return AlgorithmSpec(
        # An entry may give the title of the algorithm; records have its id.
        **{**structs.select(structs.keys_of(AlgorithmSpec, "params", "grid"), given), "id": definition.id},
        params=params,
        grid=grid,
        options=read_options(options, places, definition, covariance, grid),
        settings=structs.select(protocol.experiment.entry_keys, given),
    )
