"""Croissant: every data set of the catalogue can be described to other tools."""

import hashlib
import json

import pytest

from olbench.data.catalog import catalog, find
from olbench.data.croissant import VERSION, describe_croissant, unhashed
from olbench.data.fetch import local_files
from tests.data.test_data_command import olbench

KEYS = ("@context", "@type", "conformsTo", "name", "description", "license", "citeAs", "version", "recordSet")


def fields_of(description):
    return [field for records in description["recordSet"] for field in records["field"]]


@pytest.mark.parametrize("name", catalog())
def test_a_description_is_complete_and_refers_to_what_it_has(name):
    entry = find(name)
    made = describe_croissant(entry, None)
    assert all(made[key] for key in KEYS)
    assert made["conformsTo"] == VERSION == "http://mlcommons.org/croissant/1.1"
    assert ("url" in made) == bool(entry.page)
    files = made.get("distribution", [])
    assert [each["@id"] for each in files if "contentUrl" in each] == list(entry.files)
    assert all(each["encodingFormat"] for each in files)
    ids = {each["@id"] for each in files}
    fields = fields_of(made)
    assert len({field["@id"] for field in fields}) == len(fields)
    assert {"label", "rows"} <= {field["name"] for field in fields}
    for source in (field["source"] for field in fields if "source" in field):
        assert source.get("fileObject", source.get("fileSet"))["@id"] in ids
    assert {
        row["classes/label"]: row["classes/rows"] for row in made["recordSet"][-1]["data"]
    } == entry.labels


def test_what_is_drawn_has_no_file_but_its_generator_and_seed():
    made = describe_croissant(find("synthetic"), [])
    assert "distribution" not in made
    assert "'synthetic' of olbench with" in made["description"]
    assert '"seed": 2012' in made["description"]


def test_the_hash_is_that_of_the_file_as_its_publisher_has_it(tmp_path):
    import bz2

    content = b"+1 1:1\n-1 1:0\n"
    (tmp_path / "splice").write_bytes(content)
    (tmp_path / "splice.bz2").write_bytes(bz2.compress(content))
    (tmp_path / "usps.xz").write_bytes(b"")
    expected = hashlib.sha256(content).hexdigest()
    for copy in ("splice", "splice.bz2"):
        [file] = describe_croissant(find("splice"), [tmp_path / copy])["distribution"]
        assert file["sha256"] == expected
        assert file["contentUrl"].endswith("/binary/splice")
    # The publisher's file is compressed otherwise, so its hash is not known.
    assert unhashed(describe_croissant(find("usps"), [tmp_path / "usps.xz"])) == ["usps.bz2"]
    assert unhashed(describe_croissant(find("splice"), None)) == ["splice"]


def test_the_command_prints_json_and_says_which_hash_is_not_known(tmp_path, monkeypatch):
    monkeypatch.delenv("OLBENCH_MIRROR", raising=False)
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path))
    done = olbench("data", "info", "splice", "--format", "croissant")
    assert (done.returncode, json.loads(done.stdout)["name"]) == (0, "splice")
    assert done.stderr == "olbench: the SHA-256 of splice is not known; run `olbench data fetch splice`\n"
    done = olbench("data", "info", "breast-cancer", "--format", "json")
    plain = json.loads(done.stdout)
    assert (done.stderr, plain["rows"], plain["licence"]) == ("", 569, "CC BY 4.0")
    assert plain["version"] == "not stated by the publisher"


def test_a_file_of_ones_own_has_no_croissant(tmp_path):
    path = tmp_path / "own.libsvm"
    path.write_text("+1 1:1\n-1 1:2\n")
    done = olbench("data", "info", str(path), "--format", "croissant")
    assert done.returncode == 2
    assert (
        done.stderr
        == f"olbench: --format croissant is for data sets of the catalogue, and {path} is a file\n"
    )


def test_mlcroissant_accepts_every_description_whose_hashes_are_known():
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    for entry in catalog().values():
        made = describe_croissant(entry, local_files(entry))
        assert unhashed(made) or mlcroissant.Dataset(jsonld=made).metadata.name == entry.name
