"""The JSON schema of configs, made from what the parser knows, so that editors complete and check YAML."""

from typing import Any

from olbench.algorithms import definitions
from olbench.algorithms.definition import Definition, Parameter
from olbench.config.specs import CATEGORICAL, MISSING, OPTIONS, READING_KEYS, SCALES
from olbench.data.catalog import catalog
from olbench.papers import paper_ids
from olbench.protocols import Protocol, protocols
from olbench.protocols.definition import Key
from olbench.protocols.tuning import TIES

Schema = dict[str, Any]
#: The options of a second-order algorithm; the others are numbers.
WORDS = {
    "covariance": ["full", "diag"],
    "projection": ["kl", "l2", "exact"],
    "form": ["covariance", "root"],
    "kernel": ["linear", "rbf", "poly"],
}
#: What the options mean.
MEANINGS = {
    "covariance": "whether the covariance is a matrix or only its diagonal",
    "projection": "how a diagonal covariance stays diagonal after an update",
    "form": "whether the full covariance or a root of it is stored",
    "kernel": "learn in the feature space of a kernel",
    "a": "the initial variance of every weight",
    "gamma": "the scale of the kernel",
    "degree": "the degree of a polynomial kernel",
    "coef0": "the constant of a polynomial kernel",
}


def make_schema() -> Schema:
    """Return the schema: what all configs share, and for each protocol what it adds."""
    known = protocols()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A config of olbench",
        "type": "object",
        "required": ["datasets", "algorithms"],
        "properties": {
            "protocol": {
                "enum": [each.id for each in known], "default": "online",
                "description": "what a trial does and measures",
            },
            "paper": {
                "type": "string",
                "description": f"a paper's id ({', '.join(paper_ids())}) or the path of its file",
            },
            "seed": {
                "type": "integer", "minimum": 0, "default": 0,
                "description": "decides all random orders and splits, which all algorithms share",
            },
            "covariance": {
                "enum": WORDS["covariance"], "default": "full",
                "description": "the covariance of second-order algorithms that do not say their own",
            },
            "plugins": {
                "type": "array", "minItems": 1, "items": {"type": "string"},
                "description": "Python files with algorithms or protocols, relative to the config",
            },
            "datasets": {
                "type": "array", "minItems": 1, "items": _dataset(),
                "description": "names of the catalogue or files, relative to the config",
            },
            "algorithms": {"type": "array", "minItems": 1, "description": "ids, or ids with settings"},
        },
        "allOf": [_protocol(each) for each in known],
        "unevaluatedProperties": False,
    }  # fmt: skip


def _dataset() -> Schema:
    label = {"type": ["number", "string"], "minLength": 1}
    number = {"type": "number"}
    numbers = {"anyOf": [number, {"type": "array", "minItems": 1, "items": number}]}
    labels = {"anyOf": [label, {"type": "array", "minItems": 1, "items": label}]}
    name = {
        "type": "string",
        "description": "a name of the catalogue or a path",
        "examples": list(catalog()),
    }
    properties = {
        "name": name,
        "path": {"type": "string"},
        "positive": labels,
        "negative": labels,
        **_reading(),
        "labels": {"const": "all", "description": "every label is a class of its own, one-vs-rest"},
    }
    own = {key: ["path"] for key in READING_KEYS}
    return {
        "anyOf": [
            name,
            {
                "type": "object", "properties": properties, "additionalProperties": False,
                "anyOf": [{"required": ["name"]}, {"required": ["path"]}],
                # A name may be a path as well, so only names of the catalogue are known not to be files.
                "if": {"properties": {"name": {"enum": list(catalog())}}, "required": ["name"]},
                "then": {
                    "dependentRequired": own, "properties": {"positive": numbers, "negative": numbers},
                },
            },
        ],
    }  # fmt: skip


def _reading() -> Schema:
    """Return the keys that say how a file of one's own is read."""
    return {
        "label": {
            "type": ["string", "integer"], "minLength": 1,
            "description": "the heading or the number (from 1) of the label column",
        },
        "delimiter": {"type": "string", "minLength": 1, "description": "what separates columns"},
        "missing": {"enum": list(MISSING), "description": "what to do with missing values"},
        "categorical": {"enum": list(CATEGORICAL), "description": "what to do with columns of text"},
        "scale": {
            "enum": list(SCALES),
            "description": "unit: rows of length 1; minmax, standard: each feature",
        },
        "bias": {"type": "boolean", "description": "whether to add a feature that is always 1"},
    }  # fmt: skip


def _protocol(protocol: Protocol) -> Schema:
    """Return what holds if a config has this protocol."""
    named = {"properties": {"protocol": {"const": protocol.id}}}
    condition = named if protocol.id == "online" else {**named, "required": ["protocol"]}
    own = {key.name: _key(key) for key in protocol.keys}
    tuning = {
        "search": {"enum": list(protocol.searches), "description": "how parameters are searched"},
        "ties": {
            "enum": list(TIES), "default": "last",
            "description": "which of several best candidates is taken, in the order of the grid",
        },
        **{key.name: _key(key) for key in protocol.tuning_keys},
    }  # fmt: skip
    return {
        "if": condition,
        "then": {
            "properties": {
                **own,
                "algorithms": {"items": _entry(protocol)},
                "tuning": {
                    "type": "object", "required": ["search"],
                    "properties": tuning, "additionalProperties": False,
                },
            },
        },
    }  # fmt: skip


def _entry(protocol: Protocol) -> Schema:
    """Return the schema of an entry of `algorithms`."""
    allowed = [each for each in definitions() if not protocol.refuse(each)]
    options = {name: {"enum": words, "description": MEANINGS[name]} for name, words in WORDS.items()}
    numbers = {
        name: {"type": "number", "description": MEANINGS[name]} for name in OPTIONS if name not in WORDS
    }
    content = {
        "id": {
            "type": "string", "examples": [each.id for each in allowed],
            "description": "one of `olbench algorithms`, or of a plugin",
        },
        "name": {"type": "string", "description": "what reports call it"},
        "params": {"type": "object", "description": "parameters that are fixed"},
        "grid": {
            "type": "object", "additionalProperties": {"type": "array", "minItems": 1},
            "description": "values to search, by parameter; by default those of the papers",
        },
        **options,
        **numbers,
        **{key.name: _key(key) for key in protocol.entry_keys},
    }  # fmt: skip
    return {
        "anyOf": [
            {"type": "string", "examples": [each.id for each in allowed]},
            {
                "type": "object", "required": ["id"], "properties": content, "additionalProperties": False,
                "allOf": [_parameters(each) for each in allowed if each.parameters],
            },
        ],
    }  # fmt: skip


def _parameters(definition: Definition) -> Schema:
    """Return which parameters an algorithm has, if an entry has its id."""
    own = {each.name: _parameter(each) for each in definition.parameters}
    grids = {name: {"type": "array", "items": each} for name, each in own.items()}
    return {
        "if": {"properties": {"id": {"const": definition.id}}, "required": ["id"]},
        "then": {
            "properties": {
                "params": {"properties": own, "additionalProperties": False},
                "grid": {"properties": grids, "additionalProperties": False},
            },
        },
    }


def _parameter(parameter: Parameter) -> Schema:
    about = {"description": parameter.doc, "default": parameter.default}
    if parameter.choices:
        return {"enum": list(parameter.choices), **about}
    bounds: Schema = {}
    if parameter.low > -float("inf"):
        bounds["minimum" if parameter.closed in ("left", "both") else "exclusiveMinimum"] = parameter.low
    if parameter.high < float("inf"):
        bounds["maximum" if parameter.closed in ("right", "both") else "exclusiveMaximum"] = parameter.high
    return {"type": "number", **bounds, **about}


def _key(key: Key) -> Schema:
    """Return what a key of a protocol takes, as far as its reader says."""
    default = list(key.default) if isinstance(key.default, tuple) else key.default
    about = {"description": key.doc, **({} if default is None else {"default": default})}
    return {**getattr(key.read, "schema", {}), **about}
