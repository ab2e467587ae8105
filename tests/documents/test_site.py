"""The site shows every page in its side bar and every key of a config."""

import importlib.util
import json
import re

import pytest

from olbench.protocols import protocols
from olbench.protocols.measuring import OF_CLASSES
from olbench.protocols.specs import own_keys
from olbench.protocols.stream import STREAM_MEASURES
from tests import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("site_pages", DOCS / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_one_click_away_in_a_side_bar_of_thirty_lines(pages):
    """The theme shows the side bar on every page: the chapters with the titles of their pages."""
    contents = pages.fill("<!-- from the code: contents -->", "index")
    trees = re.findall(r"```{toctree}\n(.*?)```", contents, flags=re.DOTALL)
    titles = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    listed = [re.sub(r".*<(.*)>", r"\1", title).replace("self", "index") for title in titles]
    found = {
        str(path.relative_to(DOCS).with_suffix(""))
        for kind in ("md", "ipynb")
        for path in DOCS.rglob(f"*.{kind}")
    }
    assert sorted(listed) == sorted(name for name in found if not name.startswith("tables/"))
    assert len(trees) + len(listed) <= 30


def test_notebooks_are_stored_without_outputs():
    """The build executes them, so they show the code of today."""
    for path in DOCS.rglob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        codes = [cell for cell in cells if cell["cell_type"] == "code"]
        assert codes
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in codes), path.name


def test_every_key_of_a_config_is_described(pages):
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


def test_the_page_of_config_keys_names_every_measure():
    section = (DOCS / "reference/config.md").read_text(encoding="utf-8").partition("\n## Measures\n")[2]
    lines = re.split(r"\n(?:- |\n)", section.partition("\n## ")[0])
    named = {line[:20]: tuple(re.findall("`([a-z0-9_]+)`", line)) for line in lines}
    assert named["Of [several classes]"] == OF_CLASSES
    assert {name for names in named.values() for name in names} >= set(STREAM_MEASURES)
