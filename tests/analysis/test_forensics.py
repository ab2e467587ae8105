"""Forensics finds the setting that made a number, or that only a variant did, or that nothing did."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from olbench import load_dataset, make_algorithm, online_pass
from olbench.analysis import forensics as inquiry
from olbench.analysis.forensics import CONSISTENT, NEAR, Observed, Spread, Target, distance, is_only_by_spread
from olbench.analysis.published import Reported, load_paper
from olbench.protocols.reading import parse_config, read_config
from olbench.structs import from_plain
from tests import ROOT
from tests.cases import for_each

pytestmark = pytest.mark.usefixtures("own_folder")

PAPER = """\
id: madeup
title: Made up
citation: nobody
variants: {cw: [{id: cw, form: covariance}], scw2: [scw2-libol]}
tables:
  - where: Table 3
    quantities: [mistake_rate, updates, seconds]
    n: 20
    numbers:
"""
CONFIG = """\
paper: madeup
seed: 5
datasets: [{datasets}]
algorithms: [{algorithms}]
tuning: {{search: coordinate}}
"""
TRUTH = {
    "scw1": ("scw1", {"C": 2.0, "eta": 0.8}),
    "cw": ("cw", {"eta": 0.9}),
    "nherd": ("nherd", {"C": 0.125}),
    "scw2": ("scw2-libol", {"C": 16.0, "eta": 0.55}),
}
IMPOSSIBLE = '["0.001 ± 0.000", "4900.0 ± 3.0", "0.1 ± 0.0"]'


@cache
def printed(id, params):
    """What a paper would print for a setting: 20 orders that olbench has never seen."""
    data, random = load_dataset("synthetic-noise"), np.random.default_rng(99)
    orders = [random.permutation(5000) for _ in range(20)]
    passes = [online_pass(make_algorithm(id, **dict(params)), data.X, data.y, order) for order in orders]
    measured = ([each.mistake_rate for each in passes], 3), ([each.updates for each in passes], 1)
    columns = [f"{np.mean(x):.{digits}f} ± {np.std(x, ddof=1):.{digits}f}" for x, digits in measured]
    return json.dumps([*columns, "0.1 ± 0.0"], ensure_ascii=False)


@pytest.fixture
def configure(config, tmp_path, monkeypatch):
    """Return a function that writes a config with these algorithms, and the paper that it names."""
    path = tmp_path / "papers" / "madeup" / "numbers.yaml"
    path.parent.mkdir(parents=True)
    monkeypatch.setattr("olbench.plugins.paper_modules", lambda: {"madeup": ("olbench.papers.madeup", path)})

    def write(algorithms, datasets="synthetic-noise", reported="synthetic-noise", more=""):
        rows = {row: printed(id, tuple(params.items())) for row, (id, params) in TRUTH.items()}
        lines = (f"        {row}: {numbers}\n" for row, numbers in {**rows, "arow": IMPOSSIBLE}.items())
        path.write_text(f"{PAPER}      {reported}:\n{''.join(lines)}", encoding="utf-8")
        return config(CONFIG.format(datasets=datasets, algorithms=algorithms) + more)

    return write


@pytest.fixture
def investigate(configure, here):
    """Return a function that runs forensics and gives the rows of its JSON by algorithm."""

    def run(*words, **places):
        path = configure(*words, **places)
        content = json.loads(here.out("forensics", path, "--out", "out", "--format", "json", "--quiet"))
        return {row["algorithm"]: row for row in content["rows"]}, content["summary"]

    return run


def target(rate=(0.2, 0.01), updates=(1000.0, 10.0)):
    at = {"dataset": "d", "algorithm": "a"}
    numbers = {
        "mistake_rate": Reported("Table 3, d, a", at, "mistake_rate", *rate, 0.0005, 20, ""),
        "updates": Reported("Table 3, d, a", at, "updates", *updates, 0.05, 20, ""),
    }
    return Target("d", "a", "Table 3, d, a", numbers)


def pair(rate, updates, rate_deviation=0.0, updates_deviation=0.0):
    spreads = {"mistake_rate": Spread(rate, rate_deviation), "updates": Spread(updates, updates_deviation)}
    return Observed(5, spreads, 0)


#: 0.3125 may have been printed as 0.312, whatever binary fractions make of the difference.
EXACT = target(rate=(0.312, 0.0))


@for_each(
    ("ours", "reported", "consistent"),
    [
        (pair(0.2204, 1000), target(), True),
        (pair(0.2206, 1000), target(), False),
        (pair(0.2206, 1000, rate_deviation=0.011), target(), True),
        (pair(0.2, 1029), target(), True),
        (pair(0.2, 1031), target(), False),
        (pair(0.2, 1031, updates_deviation=20), target(), True),
        (pair(0.3125, 1000), EXACT, True),
        (pair(0.312501, 1000), EXACT, False),
    ],
)
def test_consistent_is_two_deviations_or_three_percent_of_the_updates(ours, reported, consistent):
    assert (distance(ours, reported, CONSISTENT) <= 1.0) is consistent


def test_screening_is_wider_than_judging_and_allows_for_rounded_deviations():
    exact = target(rate=(0.002, 0.0), updates=(1000.0, 10.0))
    assert distance(pair(0.0054, 1099), exact, NEAR) <= 1.0 < distance(pair(0.0056, 1000), exact, NEAR)
    assert distance(pair(0.0054, 1000), exact, CONSISTENT) > 1.0
    assert distance(pair(0.2, 1101), exact, NEAR) > 1.0


def test_agreement_that_rests_on_our_own_spread_is_marked():
    assert is_only_by_spread(pair(0.25, 1000, rate_deviation=0.03), target())
    for rate in (0.21, 0.35):
        assert not is_only_by_spread(pair(rate, 1000, rate_deviation=0.03), target())


def test_a_row_that_no_setting_reaches_shows_the_nearest_finding():
    settings = [inquiry.Setting({}, None, away, False) for away in (3.0, 2.0)]
    far, near = (inquiry.Finding(None, (each,), None, {}) for each in settings)
    assert inquiry.Inquiry(None, (far, near)).shown is near


def test_every_true_setting_is_found_and_the_impossible_is_not(investigate, here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    found, sentence = investigate("cw, nherd, arow, scw1, scw2, scw2-libol")
    for row in ("scw1", "cw", "nherd"):
        [finding] = found[row]["findings"]
        consistent = [setting["params"] for setting in finding["settings"] if setting["consistent"]]
        assert TRUTH[row][1] in consistent, row
        assert not found[row]["only_variant"]
        assert len(consistent) < finding["screened"]
    assert found["scw2"]["only_variant"]
    plain, variant = found["scw2"]["findings"]
    assert (plain["variant"], plain["consistent"]) == ("", 0)
    assert variant["variant"] == "scw2-libol"
    assert TRUTH["scw2"][1] in [s["params"] for s in variant["settings"] if s["consistent"]]
    assert not found["arow"]["reached"]
    assert len(found["arow"]["findings"][0]["settings"]) >= inquiry.NEAREST
    assert sentence.startswith("4 of 5 pairs reached by some setting (1 only by a variant, ")
    assert sentence.endswith("; 1 by no setting")
    out = here.out("forensics", "small.yaml", "--out", "out")
    lines = {line.split()[1]: line for line in out.splitlines() if line.startswith("synthetic-noise")}
    assert "only scw2-libol (" in lines["scw2"]
    assert " none " in lines["arow"]
    assert "nearest: r=" in lines["arow"]
    assert " plain (" in lines["cw"]


def test_a_variant_of_the_data_is_named(investigate):
    found, sentence = investigate("cw", "synthetic, synthetic-noise", reported="synthetic")
    plain, variant = found["cw"]["findings"]
    assert (plain["data"], plain["consistent"]) == ("synthetic", 0)
    assert variant["variant"] == "on synthetic-noise"
    assert variant["consistent"]
    assert sentence.startswith("1 of 1 pair reached by some setting (1 only by a variant, ")


@for_each(
    ("paper", "entry", "row"),
    [
        ("scw2012", "cw", ("cw", "")),
        ("scw2012", {"id": "cw", "form": "covariance"}, ("cw", "cw (form=covariance)")),
        ("scw2012", {"id": "cw", "a": 2}, ("", "cw")),
        ("scw2012", "scw2-libol", ("scw2", "scw2-libol")),
        ("libol2013", "scw1", ("scw", "")),
        ("libol2013", "scw2-libol", ("scw2", "")),
        ("libol2013", "scw2", ("scw2", "scw2")),
    ],
)
def test_an_algorithm_belongs_to_the_row_that_the_paper_gives_it_or_is_a_variant(paper, entry, row):
    content = {"datasets": ["synthetic"], "algorithms": [entry], "tuning": {"search": "grid"}}
    [spec] = parse_config(from_plain(content, "x"), Path()).algorithms
    assert inquiry.match_row(load_paper(paper), spec) == row


def test_the_config_adds_values_and_fixes_parameters(investigate):
    found, _ = investigate("{id: scw1, params: {eta: 0.8}, grid: {C: [1.5, 2]}}")
    [finding] = found["scw1"]["findings"]
    assert finding["screened"] == 10
    assert {setting["params"]["eta"] for setting in finding["settings"]} == {0.8}


def test_what_is_done_is_not_done_again_and_a_killed_run_goes_on(configure, here):
    words = ("forensics", configure("cw, arow, nherd"), "--out", "out", "--format", "json")
    code, first, err = here(*words)
    assert (code, " trials run, 0 reused" in err) == (0, True)
    code, again, err = here(*words)
    assert (code, again, "\n0 trials run, " in err) == (0, first, True)
    ledger = Path("out/trials.jsonl")
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:40]) + lines[40][:30])
    code, again, err = here(*words, "--jobs", 2)
    assert (code, again) == (0, first)
    assert f"\n{len(lines) - 40} trials run, 40 reused" in err


def test_a_run_and_its_forensics_share_a_folder_and_the_tuning(configure, here):
    assert here("run", configure("arow", more="permutations: 2\n"), "--out", "out", "--quiet")[0] == 0
    before = Path("out/run.json").read_bytes()
    assert "9 reused" in here.err("forensics", "small.yaml", "--out", "out", code=0)
    assert Path("out/run.json").read_bytes() == before
    record = json.loads(Path("out/forensics.json").read_text())
    assert {"summary", "rows", "config", "versions", "machine", "end"} <= record.keys()
    chosen = json.loads(before)["cells"][0]["params"]
    [finding] = record["rows"][0]["findings"]
    assert finding["chosen"] == chosen == finding["picks"]["coordinate"] == finding["picks"]["grid"]
    assert [setting["chosen"] for setting in finding["settings"]].count(True) == 1


def test_the_record_is_written_again_only_if_the_findings_change(configure, here):
    words = ("forensics", configure("arow"), "--out", "out", "--quiet")
    record = Path("out/forensics.json")
    written = {}
    for count in (4, 2):
        assert here(*words, "-p", count)[0] == 0
        written[count] = json.loads(record.read_text())
        assert written[count]["config"]["permutations"] == count
        settings = written[count]["rows"][0]["findings"][0]["settings"]
        assert {setting["permutations"] for setting in settings} == {count}
    record.write_text(json.dumps({**written[2], "end": "long ago", "versions": {}}))
    assert here(*words, "-p", 2)[0] == 0
    assert json.loads(record.read_text())["end"] == "long ago"
    for spoilt in ("not JSON", "[]", json.dumps({**written[2], "end": None})):
        record.write_text(spoilt)
        assert here(*words, "-p", 2)[0] == 0
        assert json.loads(record.read_text())["rows"] == written[2]["rows"]
    assert here(*words, "-p", 2, "--format", "md", "--output", "f.md") == (0, "", "")
    markdown = Path("f.md").read_text(encoding="utf-8")
    assert "| data set | algorithm | reported |" in markdown
    assert markdown.endswith(f"\n{written[2]['summary']}\n")


def test_without_a_paper_it_is_refused_and_with_nothing_to_compare_it_exits_4(configure, config, here):
    err = here.err("forensics", config())
    assert err.endswith(
        "small.yaml: forensics needs a paper to compare with; add one, as in paper: scw2012\n"
    )
    err = here.err("forensics", configure("arow", "digits-1-vs-7"), code=4)
    assert err == "olbench: madeup reports none of the algorithms of small.yaml on its data sets\n"
    assert not Path("results").exists()


def test_failing_trials_exit_3_and_the_rest_is_judged(configure, here, monkeypatch):
    def make(id, **settings):
        if settings.get("r") == 4.0:
            raise RuntimeError("no")
        return make_algorithm(id, **settings)

    monkeypatch.setattr("olbench.records.trial.make_algorithm", make)
    code, out, err = here("forensics", configure("arow"), "--format", "json")
    assert code == 3
    assert "the first: arow on synthetic-noise: RuntimeError: no" in err
    assert json.loads(out)["rows"][0]["findings"][0]["settings"]


def test_the_dry_run_counts_the_settings_and_writes_nothing(configure, here):
    out = here.out("forensics", configure("cw, scw2, scw2-libol"), "--dry-run")
    assert "2 reported pairs, 3 candidates: 190 settings to screen with one pass each, then 5 perm" in out
    assert not Path("results").exists()


def test_the_config_of_the_paper_names_every_row():
    config = read_config(ROOT / "configs/forensics.yaml")
    paper = load_paper(config.paper)
    assert {inquiry.match_row(paper, spec)[0] for spec in config.algorithms} == set(paper.algorithms)
    assert set(paper.datasets) <= {spec.name for spec in config.datasets}
