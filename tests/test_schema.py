"""The schema for editors says what the parser says."""

import json
from pathlib import Path

import pytest
import yaml

from olbench.protocols import protocols
from olbench.protocols.schema import make_schema
from olbench.protocols.specs import own_keys
from olbench.records.shipped import configs
from tests.cases import for_each
from tests.runner.test_config_broken import ALGORITHMS, DATA, GOOD

jsonschema = pytest.importorskip("jsonschema")
VALIDATOR = jsonschema.Draft202012Validator(make_schema())


def is_valid(text):
    return VALIDATOR.is_valid(yaml.safe_load(text))


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(make_schema())
    assert json.loads(json.dumps(make_schema())) == make_schema()


def test_init_prints_it_and_writes_nothing(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = here("init", "--schema")
    assert (code, json.loads(out)) == (0, make_schema())
    assert list(tmp_path.iterdir()) == []


@for_each("name", [name for name in configs() if name != "forensics"])
def test_every_config_that_ships_is_valid(name):
    errors = [error.message for error in VALIDATOR.iter_errors(yaml.safe_load(configs()[name].read_text()))]
    assert errors == []


@pytest.mark.parametrize(
    "text",
    [
        GOOD + "permutation: 3\n",
        GOOD + "zzz: 1\n",
        GOOD + "seed: -1\n",
        GOOD + "seed: x\n",
        DATA,
        ALGORITHMS,
        GOOD + "permutations: 0\n",
        GOOD + "permutations: many\n",
        GOOD + "protocol: onlin\n",
        GOOD + "covariance: half\n",
        GOOD + "tuning: grid\n",
        GOOD + "tuning: {ties: last}\n",
        GOOD + "tuning: {search: gird}\n",
        GOOD + "folds: 3\n",
        GOOD + "protocol: crossval\nfolds: 1\n",
        DATA + "algorithms: [{id: arow, params: {q: 1}}]\n",
        DATA + "algorithms: [{id: arow, params: {r: -1}}]\n",
        DATA + "algorithms: [{id: arow, params: {r: x}}]\n",
        DATA + "algorithms: [{name: x}]\n",
        DATA + "algorithms: [{id: arow, grid: {r: 3}}]\n",
        DATA + "algorithms: []\n",
        "datasets: []\n" + ALGORITHMS,
        GOOD + "protocol: crossval\ntuning: {search: nested, also: 3}\n",
        DATA + "algorithms: arow\n",
        "datasets: [{name: breast-cancer, scale: unit}]\n" + ALGORITHMS,
        "datasets: [{name: breast-cancer, positive: one}]\n" + ALGORITHMS,
        "datasets: [{positive: 1}]\n" + ALGORITHMS,
        "datasets: [{path: bad.yaml, missing: maybe}]\n" + ALGORITHMS,
        "datasets: [{path: bad.yaml, categorical: hash}]\n" + ALGORITHMS,
        "datasets: [{path: bad.yaml, scale: 3}]\n" + ALGORITHMS,
        "datasets: [{path: bad.yaml, bias: 1}]\n" + ALGORITHMS,
        "datasets: [{path: bad.yaml, label: 1.5}]\n" + ALGORITHMS,
        "datasets: [{path: bad.yaml, positive: true}]\n" + ALGORITHMS,
        "datasets: [{path: bad.yaml, delimiter: ''}]\n" + ALGORITHMS,
    ],
)
def test_what_the_parser_refuses_the_schema_refuses(text, here, tmp_path, monkeypatch):
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
