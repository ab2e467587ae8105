"""Energy: the counters of a made-up powercap tree."""

import os

import pytest

from olbench.trials import energy, provenance


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A machine with two packages, of which one has a part, and counters that must not be added."""
    monkeypatch.setattr(energy, "POWERCAP", tmp_path)
    for name, domain in {
        "intel-rapl:0": "package-0", "intel-rapl:1": "package-1", "intel-rapl:0:0": "core",
        "intel-rapl:2": "psys", "intel-rapl-mmio:0": "package-0",
    }.items():  # fmt: skip
        zone = tmp_path / name
        zone.mkdir()
        (zone / "name").write_text(f"{domain}\n")
        (zone / "max_energy_range_uj").write_text("1000000\n")
        (zone / "energy_uj").write_text("500000\n")
    return tmp_path


def count(tree, zone, microjoules):
    (tree / zone / "energy_uj").write_text(f"{microjoules}\n")


def test_the_packages_add_up_and_their_parts_do_not(tree):
    meter = energy.open_meter()
    before = meter.read()
    for zone, counted in (("intel-rapl:0", 700_000), ("intel-rapl:1", 600_000), ("intel-rapl:0:0", 900_000)):
        count(tree, zone, counted)
    assert str(meter) == "counters of the processor packages (RAPL)"
    assert meter.joules_since(before) == pytest.approx(0.3)


def test_a_counter_that_starts_again_is_followed(tree):
    meter = energy.open_meter()
    before = meter.read()
    count(tree, "intel-rapl:0", 100_000)
    assert meter.joules_since(before) == pytest.approx(0.6)


def test_a_machine_without_counters_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(energy, "POWERCAP", tmp_path / "nowhere")
    meter = energy.open_meter()
    assert meter.read() is None
    assert meter.joules_since(meter.read()) is None
    assert provenance.machine()["energy"].startswith("not available: this machine has no energy counters")


def test_counters_that_only_root_may_read_are_not_available(tree, monkeypatch):
    refused = tree / "intel-rapl:1" / "energy_uj"
    if os.geteuid():
        refused.chmod(0)
    else:  # root may read everything; a folder in its place cannot be read by anyone
        refused.unlink()
        refused.mkdir()
    meter = energy.open_meter()
    assert "cannot be read; most systems allow it to root only" in str(meter)
    assert meter.read() is None


def test_a_counter_that_vanishes_during_a_trial_measures_nothing(tree):
    meter = energy.open_meter()
    before = meter.read()
    (tree / "intel-rapl:1" / "energy_uj").unlink()
    assert meter.joules_since(before) is None
