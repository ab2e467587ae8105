"""The JSON schema of configs, made from the structs that read them; editors use it to check YAML."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from olbench.algorithms import definitions
from olbench.algorithms.definition import Definition, Parameter
from olbench.data.catalog import catalog
from olbench.data.load import READING_KEYS
from olbench.data.spec import DatasetSpec
from olbench.errors import UserError
from olbench.plugins import paper_ids
from olbench.protocols import Protocol, protocols
from olbench.protocols.reading import ALL, ENTRY_KEYS, tuning_keys
from olbench.protocols.specs import Experiment, own_keys
from olbench.structs import Key, keys_of, number, one_or_many, schema_of

Schema = dict[str, Any]
#: The name of the schema; it is not an address.
ID = "urn:olbench:config"
FILE = "olbench.schema.json"
LINE = f"# yaml-language-server: $schema={FILE}\n"


def make_schema() -> Schema:
    known = protocols()
    shared = _properties(keys_of(Experiment, "tuning"))
    shared["protocol"]["enum"] = [protocol.id for protocol in known]
    shared["paper"]["examples"] = paper_ids()
    shared["datasets"]["items"] = _dataset()
    for key in ("datasets", "plugins"):
        shared[key]["minItems"] = 1
    about = shared["algorithms"].get("description", "")
    shared["algorithms"] = {"anyOf": [{"const": ALL}, {"type": "array", "minItems": 1}], "description": about}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "A config of olbench",
        "type": "object",
        "required": ["datasets", "algorithms"],
        "properties": shared,
        "allOf": [_protocol(protocol) for protocol in known],
        "unevaluatedProperties": False,
    }


def _properties(keys: Iterable[Key]) -> Schema:
    return {key.name: key.schema for key in keys}


def _mapping(keys: Iterable[Key], *required: str) -> Schema:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", **needed, "properties": _properties(keys), "additionalProperties": False}


def _dataset() -> Schema:
    keys = (*keys_of(DatasetSpec), *READING_KEYS)
    name = {**keys[0].schema, "examples": list(catalog())}
    numbers = schema_of(one_or_many(number))
    content = _mapping(keys)
    content["properties"]["name"] = name
    return {
        "anyOf": [
            name,
            {
                **content,
                "anyOf": [{"required": ["name"]}, {"required": ["path"]}],
                # A name may also be a path; only names in the catalogue are certainly not files.
                "if": {"properties": {"name": {"enum": list(catalog())}}, "required": ["name"]},
                "then": {
                    "dependentRequired": {key.name: ["path"] for key in READING_KEYS},
                    "properties": {"positive": numbers, "negative": numbers},
                },
            },
        ]
    }


def _protocol(protocol: Protocol) -> Schema:
    named = {"properties": {"protocol": {"const": protocol.id}}}
    condition = named if protocol.id == "online" else {**named, "required": ["protocol"]}
    tuning = _mapping(tuning_keys(protocol), "search")
    keys = own_keys(type(protocol.experiment))
    own = {**_properties(keys), "algorithms": {"items": _entry(protocol)}, "tuning": tuning}
    return {"if": condition, "then": {"properties": own}}


def _entry(protocol: Protocol) -> Schema:
    allowed = [definition for definition in definitions() if _is_allowed(definition, protocol)]
    content = _mapping([*ENTRY_KEYS, *protocol.experiment.entry_keys], "id")
    ids = {"examples": [definition.id for definition in allowed]}
    content["properties"]["id"] |= ids
    content["allOf"] = [_parameters(definition) for definition in allowed if definition.searchable]
    return {"anyOf": [{"type": "string", **ids}, content]}


def _is_allowed(definition: Definition, protocol: Protocol) -> bool:
    with suppress(UserError):
        protocol.refuse(definition)
        return True
    return False


def _parameters(definition: Definition) -> Schema:
    own = {parameter.name: _parameter(parameter) for parameter in definition.parameters}
    searched = {name: _parameter(each) for name, each in definition.searchable.items()}
    grids = {name: {"type": "array", "items": item} for name, item in searched.items()}
    return {
        "if": {"properties": {"id": {"const": definition.id}}, "required": ["id"]},
        "then": {
            "properties": {
                "params": {"properties": own, "additionalProperties": False},
                "grid": {"properties": grids, "additionalProperties": False},
            }
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
