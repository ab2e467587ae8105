"""The config of an experiment: YAML in, frozen dataclasses out, every error with file and line."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from olbench.algorithms import get_definition
from olbench.algorithms.definition import Definition, Value
from olbench.algorithms.options import Kernel
from olbench.algorithms.plugins import load_plugin
from olbench.config.specs import (
    CATEGORICAL,
    FITTED_SCALES,
    MISSING,
    OPTIONS,
    READING_KEYS,
    SCALES,
    TRAINING_ROWS,
    AlgorithmSpec,
    Config,
    DatasetSpec,
    Reading,
    Tuning,
)
from olbench.errors import UserError, expand_home, is_file, is_unicode, shorten
from olbench.learn.learners import make_algorithm
from olbench.protocols import Protocol, get_protocol, protocols
from olbench.protocols.definition import Key
from olbench.protocols.tuning import TIES
from olbench.yaml_lines import Placed, from_plain, parse_placed, read_placed

#: How many keys the path of an override may have.
DEEPEST = 20
#: The keys of every config; a protocol adds its own.
KEYS = ("paper", "protocol", "seed", "datasets", "algorithms", "covariance", "tuning", "plugins")


def read_config(path: Path, overrides: Iterable[str] = ()) -> Config:
    """Return the config of a YAML file, with `key=value` overrides as --set takes them."""
    return parse_config(apply_overrides(read_placed(path), overrides), path.parent)


def data_config(
    data: str, algorithms: str, positive: tuple[float | str, ...], overrides: Iterable[str] = (),
    plugins: Iterable[str] = (), path: str = "", reading: Mapping[str, Any] | None = None,
) -> Config:  # fmt: skip
    """Return the config of a first look at one data set, without a file: ids separated by commas.

    With a path, `data` is only what the data set is called. `reading` has the keys for one's own file.
    """
    given: dict[str, Any] = {"positive": list(positive)} if positive else {}
    given |= ({"path": path} if path else {}) | dict(reading or {})
    ids = [id.strip() for id in algorithms.split(",") if id.strip()]
    parts = {
        "datasets": from_plain([{"name": data, **given} if given else data], data),
        "algorithms": from_plain(ids, "--algorithms"),
    }
    if plugins := list(plugins):
        parts["plugins"] = from_plain(plugins, "--plugin")
    root = Placed(parts, data, dict.fromkeys(parts, data))
    return parse_config(apply_overrides(root, overrides), Path())


def apply_overrides(root: Placed, overrides: Iterable[str]) -> Placed:
    """Return the tree with each `key=value` applied; dots lead to keys below."""
    for override in overrides:
        key, separator, text = override.partition("=")
        place = f"--set {shorten(override, 200)}"
        if not separator or not key:
            raise UserError(f"{place}: write key=value, for example --set permutations=5")
        path = key.split(".")
        if len(path) > DEEPEST:
            raise UserError(f"--set {shorten(override)}: no key of a config is below {DEEPEST} others")
        root = _replace(root, path, parse_placed(text or "null", place, one_place=True))
    return root


def _replace(node: Placed, path: list[str], value: Placed) -> Placed:
    """Return the tree with the value at a dotted path; missing mappings on the way are made."""
    if not path:
        return value
    if not isinstance(node.value, dict):
        raise value.fail(f"there is no key '{path[0]}' below a value that is not a mapping")
    below = node.value.get(path[0], Placed({}, value.place))
    content = {**node.value, path[0]: _replace(below, path[1:], value)}
    return Placed(content, node.place, {**node.keys, path[0]: node.keys.get(path[0], value.place)})


def parse_config(root: Placed, folder: Path) -> Config:
    """Return the config that a tree of placed values describes; paths in it start from `folder`."""
    if not isinstance(root.value, dict):
        raise root.fail("a config is a mapping with the keys datasets and algorithms")
    # Plugins come first: they may define the protocol and the algorithms that the other keys name.
    plugins = _plugins(root, folder)
    protocol = _protocol(root)
    content = root.mapping("the config", [*KEYS, *(key.name for key in protocol.keys)])
    for name in ("datasets", "algorithms"):
        if name not in content:
            raise root.fail(f"the key '{name}' is missing")
    fields: dict[str, Any] = {}
    if "paper" in content:
        fields["paper"] = _paper(content["paper"], folder)
    if "seed" in content:
        fields["seed"] = content["seed"].whole("seed", 0)
    if "covariance" in content:
        fields["covariance"] = content["covariance"].choice("covariance", ("full", "diag"))
    if "tuning" in content:
        fields["tuning"] = _tuning(content["tuning"], protocol)
    tuning = fields.setdefault("tuning", Tuning(settings=_settings(protocol.tuning_keys, {})))
    entries = _Algorithms(protocol, tuning, fields.get("covariance", "full"))
    datasets = _datasets(content["datasets"], folder, protocol)
    _refuse_classes(content["datasets"], datasets, protocol)
    return Config(
        datasets=datasets,
        algorithms=entries.all(content["algorithms"]),
        protocol=protocol.id,
        settings=_settings(protocol.keys, content),
        plugins=plugins,
        **fields,
    )


def _plugins(root: Placed, folder: Path) -> tuple[str, ...]:
    node = root.value.get("plugins")
    return tuple(_plugin(item, folder) for item in node.items("plugins")) if node is not None else ()


def _plugin(node: Placed, folder: Path) -> str:
    path = folder / node.text("a plugin")
    with place_errors(node):
        load_plugin(path)
    return str(path.resolve())


def _protocol(root: Placed) -> Protocol:
    node = root.value.get("protocol")
    if node is None:
        return get_protocol("online")
    return get_protocol(node.choice("protocol", tuple(each.id for each in protocols())))


def _settings(keys: Iterable[Key], content: Mapping[str, Placed]) -> dict[str, Any]:
    """Return the value of each key that a protocol adds: the given one, checked, or its default."""
    return {
        key.name: key.read(content[key.name], key.name) if key.name in content else key.default
        for key in keys
    }


def _paper(node: Placed, folder: Path) -> str:
    """Return the id of a paper that ships, or the path of a paper's file of one's own."""
    from olbench.papers import is_path, load_paper

    id = node.text("paper")
    with place_errors(node):
        name = str((folder / expand_home(id)).resolve()) if is_path(id) else id
        load_paper(name)
    return name


def _tuning(node: Placed, protocol: Protocol) -> Tuning:
    keys = ["search", "ties", *(key.name for key in protocol.tuning_keys)]
    content = node.mapping("tuning", keys)
    if "search" not in content:
        raise node.fail(f"tuning needs the key 'search': one of {', '.join(protocol.searches)}")
    search = content["search"].choice("search", protocol.searches)
    ties = content["ties"].choice("ties", TIES) if "ties" in content else "last"
    return Tuning(search, ties, _settings(protocol.tuning_keys, content))


@contextmanager
def place_errors(node: Placed) -> Iterator[None]:
    """Put the place of a node before errors raised where it is not known."""
    try:
        yield
    except UserError as error:
        raise node.fail(str(error)) from None


def _datasets(node: Placed, folder: Path, protocol: Protocol) -> tuple[DatasetSpec, ...]:
    specs: list[DatasetSpec] = []
    for item in node.items("datasets"):
        spec = _dataset(item, folder)
        if spec.reading.scale in FITTED_SCALES and protocol.fitted_on == TRAINING_ROWS:
            spec = replace(spec, reading=replace(spec.reading, fitted=TRAINING_ROWS))
        if reason := protocol.refuse_data(spec):
            raise item.fail(reason)
        if not is_unicode(spec.name):
            shown = ascii(spec.name)
            raise UserError(
                f"the name of the data set {shown} is not valid Unicode; rename the file, or give a "
                "path and a name of its own in a config"
            )
        if replace(spec, path="") in [replace(other, path="") for other in specs]:
            raise item.fail(f"the data set '{spec.name}' is listed twice")
        if any(spec.name == other.name and (spec.path or other.path) for other in specs):
            raise item.fail(f"two data sets would be called '{spec.name}'; give one of them another name")
        specs.append(spec)
    return tuple(specs)


def _refuse_classes(node: Placed, specs: Iterable[DatasetSpec], protocol: Protocol) -> None:
    """Raise a UserError if there are more classes than a protocol can tell apart."""
    for item, spec in zip(node.items("datasets"), specs, strict=True):
        if spec.labels and not protocol.multiclass:
            able = ", ".join(each.id for each in protocols() if each.multiclass)
            raise item.fail(
                f"labels: {spec.labels} has no meaning for the protocol {protocol.id}; it runs under "
                f"protocol: {able}"
            )


def _dataset(node: Placed, folder: Path) -> DatasetSpec:
    if not isinstance(node.value, dict):
        return _find_dataset(node.text("a data set"), node, folder)
    content = node.mapping("a data set", ["name", "path", "positive", "negative", "labels", *READING_KEYS])
    if "path" in content:
        spec = _find_file(content["path"].text("path"), content["path"], folder)
        name = content["name"].text("name") if "name" in content else spec.name
    elif "name" in content:
        spec = _find_dataset(content["name"].text("name"), content["name"], folder)
        name = spec.name
    else:
        raise node.fail("a data set needs the key 'name' or 'path'")
    reading = _reading(content)
    if reading != Reading() and not spec.path:
        key = next(iter(reading.plain()))
        raise content[key].fail(
            f"{name} is read as the catalogue says; {key} is for your own files, which have the key path"
        )
    labels = content["labels"].choice("labels", ("all",)) if "labels" in content else ""
    if labels and ("positive" in content or "negative" in content):
        raise content["labels"].fail("labels: all leaves nothing for positive and negative to choose")
    chosen = _labels(content, "positive"), _labels(content, "negative")
    for key, given in zip(("positive", "negative"), chosen, strict=True):
        for label in given or ():
            if isinstance(label, str) and not spec.path:
                raise content[key].fail(f"{key} must be a label or a list of labels, not {label!r}")
    return _with_usual_labels(DatasetSpec(name, spec.path, *chosen, labels, reading))


def _reading(content: Mapping[str, Placed]) -> Reading:
    """Return how a file of one's own is read."""
    given: dict[str, Any] = {}
    for key, words in (("missing", MISSING), ("categorical", CATEGORICAL), ("scale", SCALES)):
        if key in content:
            given[key] = content[key].choice(key, words)
    if "delimiter" in content:
        from olbench.data.readers.tables.csv import read_delimiter

        with place_errors(content["delimiter"]):
            given["delimiter"] = read_delimiter(str(content["delimiter"].value))
    if "bias" in content:
        if not isinstance(content["bias"].value, bool):
            raise content["bias"].fail(f"bias must be true or false, not {content['bias'].shown()}")
        given["bias"] = content["bias"].value
    if "label" in content:
        node = content["label"]
        if isinstance(node.value, bool) or not isinstance(node.value, str | int) or node.value == "":
            raise node.fail(f"label must be the heading or the number of a column, not {node.shown()}")
        given["label"] = node.value
    return Reading(**given)


def _find_dataset(name: str, node: Placed, folder: Path) -> DatasetSpec:
    """Return the data set of a name in the catalogue, or else of a path."""
    from olbench.data.catalog import catalog, find
    from olbench.data.readers.compressed import STDIN, show_path

    if name in catalog():
        return DatasetSpec(name)
    if name == STDIN:
        return DatasetSpec(show_path(STDIN), STDIN)
    with place_errors(node):
        found = is_file(folder / expand_home(name))
    if found:
        return _find_file(name, node, folder)
    with place_errors(node):
        find(name)
    raise AssertionError("find refuses every unknown name")


def _find_file(name: str, node: Placed, folder: Path) -> DatasetSpec:
    from olbench.data.cache import is_entry
    from olbench.data.readers.compressed import base_name
    from olbench.data.user_data import plain_name

    with place_errors(node):
        path = folder / expand_home(name)
    if not is_file(path) and not is_entry(path):
        raise node.fail(f"there is no file {path}")
    return DatasetSpec(plain_name(base_name(path.name)), str(path.resolve()))


def _labels(content: Mapping[str, Placed], key: str) -> tuple[float | str, ...] | None:
    from olbench.data.prepare.labels import read_label

    if key not in content:
        return None
    node = content[key]
    for item in node.items(key) if isinstance(node.value, list) else [node]:
        if isinstance(item.value, bool):
            words = '"yes"' if item.value else '"no"'
            raise item.fail(
                f"YAML reads this word as {item.shown()}; write it in quotes, as in {key}: {words}"
            )
        if not isinstance(item.value, int | float | str) or item.value == "":
            raise item.fail(f"{key} must be a label or a list of labels, not {item.shown()}")
    values = [item.value for item in node.value] if isinstance(node.value, list) else [node.value]
    with place_errors(node):
        return tuple(map(read_label, values))


def _with_usual_labels(spec: DatasetSpec) -> DatasetSpec:
    """Leave out labels that are the catalogue's own: the data set then keeps its name and its orders."""
    from olbench.data.catalog import catalog

    entry = None if spec.path else catalog()[spec.name]
    usual = (
        entry is not None
        and not spec.labels
        and entry.positive == spec.positive
        and entry.negative == spec.negative
    )
    return DatasetSpec(spec.name) if usual else spec


class _Algorithms:
    """Reads the entries of `algorithms` in the light of `protocol`, `tuning` and `covariance`."""

    def __init__(self, protocol: Protocol, tuning: Tuning, covariance: str):
        self.protocol, self.tuning, self.covariance = protocol, tuning, covariance

    def all(self, node: Placed) -> tuple[AlgorithmSpec, ...]:
        """Return the algorithms, no two of them alike."""
        specs: list[AlgorithmSpec] = []
        for item in node.items("algorithms"):
            spec = self.one(item)
            if spec in specs:
                raise item.fail(f"the algorithm '{spec.id}' is listed twice with the same settings")
            if spec.name and any(spec.name in (other.name, other.id) for other in specs):
                raise item.fail(
                    f"two algorithms would be called '{spec.name}'; give one of them another name"
                )
            specs.append(spec)
        return tuple(specs)

    def one(self, node: Placed) -> AlgorithmSpec:
        """Return the algorithm of an entry: an id, or a mapping with one."""
        content = {"id": node}
        if isinstance(node.value, dict):
            added = (key.name for key in self.protocol.entry_keys)
            content = node.mapping("an algorithm", ["id", "name", "params", "grid", *OPTIONS, *added])
        if "id" not in content:
            raise node.fail("an algorithm needs the key 'id'")
        id = content["id"].text("the id of an algorithm")
        with place_errors(content["id"]):
            definition = get_definition(id)
        reason = self.protocol.refuse(definition)
        if reason:
            raise content["id"].fail(reason)
        params = self._params(content, definition)
        grid, options = self._grid(content, definition, params), self._options(content, definition)
        name = content["name"].text("the name of an algorithm") if "name" in content else ""
        given = [key for key in self.protocol.entry_keys if key.name in content]
        return AlgorithmSpec(id, params, grid, options, name, _settings(given, content))

    def _params(self, content: Mapping[str, Placed], definition: Definition) -> dict[str, Value]:
        """Return the parameters that are fixed, checked."""
        if "params" not in content:
            return {}
        given = content["params"]
        if not isinstance(given.value, dict):
            raise given.fail(f"params must be a mapping, not {given.shown()}")
        return {name: _check_value(definition, name, item) for name, item in given.value.items()}

    def _grid(
        self, content: Mapping[str, Placed], definition: Definition, params: Mapping[str, Value]
    ) -> dict[str, tuple[Value, ...]]:
        """Return what is searched: the given grid, or when tuning the papers' for what is not fixed."""
        if "grid" not in content:
            return dict(definition.grid_beside(params)) if self.tuning.search != "none" else {}
        node = content["grid"]
        if self.tuning.search == "none":
            raise node.fail("a grid needs tuning; add for example tuning: {search: grid}")
        if not isinstance(node.value, dict) or not node.value:
            raise node.fail("grid must be a mapping of parameters to lists, and not empty")
        for name in node.value:
            if name in params:
                raise UserError(f"{node.keys[name]}: {name} is both fixed in params and searched in grid")
        return {name: _read_grid(definition, name, item) for name, item in node.value.items()}

    def _options(self, content: Mapping[str, Placed], definition: Definition) -> dict[str, Any]:
        """Return how the covariance of a second-order algorithm is kept, in full."""
        given = {name: content[name].value for name in OPTIONS if name in content}
        if definition.order != "second":
            if given:
                key = next(iter(given))
                raise content[key].fail(f"{definition.id} has no covariance, so '{key}' means nothing to it")
            return {}
        node = content.get("covariance", content.get("kernel", content["id"]))
        with place_errors(node):
            made = make_algorithm(definition.id, **{"covariance": self.covariance, **given})
        if made.kernel is not None:
            return {"covariance": made.covariance, "a": float(made.a), **_kernel_options(made.kernel)}
        detail = {"projection": made.projection} if made.covariance == "diag" else {"form": made.form}
        return {"covariance": made.covariance, **detail, "a": float(made.a)}


def _kernel_options(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel with the settings that mean something to it."""
    used = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "degree", "coef0")}[kernel.name]
    return {"kernel": kernel.name, **{name: getattr(kernel, name) for name in used}}


def _read_grid(definition: Definition, name: str, node: Placed) -> tuple[Value, ...]:
    values = [_check_value(definition, name, item) for item in node.items(f"the grid of {name}")]
    if len(set(values)) < len(values):
        raise node.fail(f"the grid of {name} has a value twice")
    return tuple(values)


def _check_value(definition: Definition, name: str, node: Placed) -> Value:
    if isinstance(node.value, dict | list):
        raise node.fail(f"{definition.id}: {name} must be one value, not {node.shown()}")
    with place_errors(node):
        return definition.resolve({name: node.value})[name]
