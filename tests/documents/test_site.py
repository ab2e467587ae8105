"""The site shows all of the code: no page, key, command, algorithm or data set is left out."""

import importlib.util
import json
import re

import pytest

from tests import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("site_pages", DOCS / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_notebooks_are_stored_without_outputs():
    """The build executes them: what it shows is what the code of today does."""
    books = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in DOCS.rglob("*.ipynb")}
    assert books
    for name, book in books.items():
        codes = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        assert codes
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in codes), name


def test_every_key_of_a_config_is_described(pages):
    from olbench.protocols import protocols
    from olbench.protocols.specs import own_keys

    text = pages.describe_config("", "reference/config")
    for protocol in protocols():
        own = text.partition(f"## Protocol `{protocol.id}`")[2].partition("\n## ")[0]
        experiment = protocol.experiment
        tuning = own_keys(type(experiment.tuning))
        for key in (*own_keys(type(experiment)), *experiment.entry_keys, *tuning):
            assert re.search(rf"^\| `{key.name}` \|.*\| \S.* \|$", own, flags=re.MULTILINE), key.name
    general = text.partition("\n## An entry of `datasets`")[0]
    assert re.findall(r"^\| `(\w+)` \|.*\|  \|$", general, flags=re.MULTILINE) == []
    assert "| `seed` | whole number from 0 | `0` |" in general
