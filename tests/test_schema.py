"""The schema for editors agrees with the parser."""

import json
from pathlib import Path

import pytest
import yaml

from olbench.protocols import protocols
from olbench.protocols.schema import make_schema
from olbench.protocols.specs import own_keys
from olbench.records.shipped import configs
from tests.cases import for_each
from tests.protocols.test_config_broken import ALGORITHMS, DATA, GOOD

jsonschema = pytest.importorskip("jsonschema")
VALIDATOR = jsonschema.Draft202012Validator(make_schema())


def is_valid(text):
    return VALIDATOR.is_valid(yaml.safe_load(text))


def test_init_prints_a_schema_and_writes_nothing(here, tmp_path, monkeypatch):
    jsonschema.Draft202012Validator.check_schema(make_schema())
    monkeypatch.chdir(tmp_path)
    assert json.loads(here.out("init", "--schema")) == make_schema()
    assert list(tmp_path.iterdir()) == []


@for_each("name", [name for name in configs() if name != "forensics"])
def test_every_config_that_ships_is_valid(name):
    errors = [error.message for error in VALIDATOR.iter_errors(yaml.safe_load(configs()[name].read_text()))]
    assert errors == []


REFUSED = [
    DATA, ALGORITHMS, "datasets: []\n" + ALGORITHMS,
    *[f"{GOOD}{keys}\n" for keys in (
        "permutation: 3", "zzz: 1", "seed: -1", "seed: x", "permutations: 0", "permutations: many",
        "protocol: onlin", "covariance: half", "tuning: grid", "tuning: {ties: last}",
        "tuning: {search: gird}", "folds: 3", "protocol: crossval\nfolds: 1",
        "protocol: crossval\ntuning: {search: nested, also: 3}",
    )],
    *[f"{DATA}algorithms: {entries}\n" for entries in (
        "[{id: arow, params: {q: 1}}]", "[{id: arow, params: {r: -1}}]", "[{id: arow, params: {r: x}}]",
        "[{name: x}]", "[{id: arow, grid: {r: 3}}]", "[]", "arow",
    )],
    *[f"datasets: [{{{keys}}}]\n{ALGORITHMS}" for keys in (
        "name: breast-cancer, scale: unit", "name: breast-cancer, positive: one", "positive: 1",
        *[f"path: bad.yaml, {key}" for key in (
            "missing: maybe", "categorical: hash", "scale: 3", "bias: 1", "label: 1.5", "positive: true",
            "delimiter: ''",
        )],
    )],
]  # fmt: skip


@for_each("text", REFUSED)
def test_the_schema_refuses_whatever_the_parser_refuses(text, here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(text)
    assert here("run", "bad.yaml", "--out", "out", "--dry-run")[0] == 2
    assert not is_valid(text)


@for_each("protocol", protocols())
def test_every_key_of_a_protocol_is_in_the_schema_and_says_what_it_takes(protocol):
    [own] = [
        each
        for each in make_schema()["allOf"]
        if each["if"]["properties"]["protocol"]["const"] == protocol.id
    ]
    properties = own["then"]["properties"]
    for key in own_keys(type(protocol.experiment)):
        assert properties[key.name]["description"] == key.doc
    for key in own_keys(type(protocol.experiment.tuning)):
        assert key.name in properties["tuning"]["properties"]


def test_keys_of_one_protocol_are_not_keys_of_another():
    assert is_valid(GOOD)
    assert is_valid(GOOD + "protocol: crossval\nfolds: 3\nduplicates: remove\n")
    assert not is_valid(GOOD + "protocol: crossval\npermutations: 3\n")
