"""A bundle is read as the folder that it was made of; one that nobody should trust is refused."""

import hashlib
import json
import lzma
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import olbench
from olbench import UserError, load_results
from olbench.api import bundle as write_bundle
from olbench.plugins import forget_file, load_file
from olbench.records import container, ledger, run_file
from olbench.records.bundle import digest_records
from olbench.records.shipped import find_run
from tests import ROOT
from tests.refusals import find_wrong, refusal

pytestmark = pytest.mark.usefixtures("own_folder")

CONFIG = {"seed": 3, "permutations": 2, "curve": 3}
CONFIG |= {"datasets": ["breast-cancer"], "algorithms": ["perceptron", "pa1"]}
PLUGIN = """\
from pathlib import Path
from olbench import contestant

Path("executed").touch()


@contestant("mine")
def mine():
    '''Learn as scikit-learn does.'''
    from sklearn.linear_model import Perceptron

    return Perceptron(random_state=0)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "small"
    olbench.run(CONFIG, folder, jobs=1)
    return folder


@pytest.fixture
def bundle(made, tmp_path):
    return write_bundle(made, tmp_path / "small.olb").path


def read_all(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, **changed):
    """Write a bundle again, as a forger who computes its manifest anew, with other content for some names."""
    members = {name: content for name, content in read_all(path).items() if name != container.MANIFEST}
    container.write(path, members | {name.replace("__", "."): each for name, each in changed.items()}, {})


def test_bundling_twice_gives_the_same_bytes(made, tmp_path):
    copy = shutil.copytree(made, tmp_path / "elsewhere" / "small")
    for path in copy.iterdir():
        os.utime(path, (1e9, 1e9))
    one, other = write_bundle(made, tmp_path / "a.olb"), write_bundle(copy, tmp_path / "b.olb")
    assert one.path.read_bytes() == other.path.read_bytes()
    assert one.digest == other.digest == digest_records(ledger.current(find_run(one.path)).values())


def test_a_bundle_is_reported_as_its_folder_is_and_nothing_is_written_beside_it(here, made, bundle):
    before = sorted({*bundle.parent.iterdir(), bundle.parent / "cache"})
    ours, theirs = load_results(bundle), load_results(made)
    assert ours.to_frame().equals(theirs.to_frame())
    assert ours.name == theirs.name == "small"
    assert sorted(bundle.parent.iterdir()) == before
    out = here.out("bundle", "cw-usps")  # a run that ships has a name
    assert out.startswith("cw-usps.olb: 75 trials on 5 data sets, ")
    for form in ("text", "json"):
        reports = [here("report", run, "--format", form)[1] for run in ("cw-usps", "cw-usps.olb")]
        if form == "json":  # the name of the machine is nobody's business
            reports = [re.sub('.*"host".*\n', "", each) for each in reports]
        assert reports[0] == reports[1] != "", form


def test_a_bundle_has_neither_paths_nor_the_name_of_the_machine(tmp_path):
    data = tmp_path / "own.libsvm"
    data.write_text("".join(f"{'+1' if n % 3 else '-1'} 1:{n % 7} 2:{n % 5}\n" for n in range(60)))
    plugin, paper = tmp_path / "mine.py", tmp_path / "my-paper.yaml"
    plugin.write_text("FACTOR = 2\n")
    shutil.copyfile(ROOT / "olbench/papers/scw2012/numbers.yaml", paper)
    config = {**CONFIG, "datasets": [str(data)], "plugins": [str(plugin)], "paper": str(paper)}
    folder = tmp_path / "run"
    olbench.run(config, folder, jobs=1)
    content = json.loads((folder / "run.json").read_text())
    content["machine"]["host"] = "my-very-own-machine"
    (folder / "run.json").write_text(json.dumps(content))
    path = write_bundle(folder, tmp_path / "run.olb").path
    members = read_all(path)
    everything = b"".join(each for name, each in members.items() if name != ledger.PACKED)
    everything += b"".join(json.dumps(each).encode() for each in ledger.each(find_run(path)))
    assert str(tmp_path).encode() not in everything
    assert b"my-very-own-machine" not in everything
    assert members["plugins/0/mine.py"] == plugin.read_bytes()
    assert members["paper.yaml"] == paper.read_bytes()
    said = json.loads(members["data.json"])["own.libsvm"]
    assert (said["file"], said["rows"]) == ("own.libsvm", 60)
    config = run_file.read(find_run(path)).config
    assert config["paper"] == str(find_run(path) / "paper.yaml")
    from olbench.analysis.published import load_paper

    assert load_paper(config["paper"]).algorithms == load_paper(str(paper)).algorithms


def test_the_plugin_of_a_run_that_ships_is_found_beside_its_config(made, tmp_path):
    folder = shutil.copytree(made, tmp_path / "run")
    content = json.loads((folder / "run.json").read_text())
    content["config"]["plugins"] = ["stream_peers.py"]
    (folder / "run.json").write_text(json.dumps(content))
    members = read_all(write_bundle(folder, tmp_path / "run.olb").path)
    assert members["plugins/0/stream_peers.py"] == (ROOT / "configs/stream_peers.py").read_bytes()
    content["config"]["plugins"] = ["gone.py"]
    (folder / "run.json").write_text(json.dumps(content))
    said = refusal(write_bundle, folder, tmp_path / "gone.olb")
    assert "cannot read the plugin gone.py of the run: No such file" in said
    assert not (tmp_path / "gone.olb").exists()


def test_a_bundle_of_nothing_and_one_of_a_bundle_are_refused(here, made, bundle, tmp_path):
    err = here.err("bundle", bundle, "-o", "again.olb")
    assert err == "olbench: small is a bundle already; name the folder of a run\n"
    (tmp_path / "empty").mkdir()
    shutil.copyfile(made / "run.json", "empty/run.json")
    assert here.err("bundle", "empty") == "olbench: empty has no trial yet, so there is nothing to bundle\n"
    assert not [path for path in tmp_path.iterdir() if path.name not in ("small.olb", "empty", "cache")]
    assert "use --format and --output" in here.err("report", bundle, "--all")


def test_an_unpacked_bundle_that_nobody_opens_leaves_the_cache(bundle, made, tmp_path):
    unpacked, other = find_run(bundle).parent, write_bundle(made, tmp_path / "other.olb").path
    rewrite(other)
    os.utime(unpacked, (1e9, 1e9))
    assert find_run(bundle).parent == unpacked
    find_run(other)
    assert unpacked.exists()  # it was opened again
    os.utime(unpacked, (1e9, 1e9))
    find_run(other)
    assert not unpacked.exists()


# What nobody should open


def make_zip(members, manifest=True, method=zipfile.ZIP_DEFLATED):
    """Write a ZIP archive with exactly these members, and a manifest that fits."""
    sums = {name: {"bytes": len(each), "sha256": hashlib.sha256(each).hexdigest()} for name, each in members}
    listed = json.dumps({"format": 2, "files": sums}).encode()
    with zipfile.ZipFile("bad.olb", "w") as archive:
        for name, content in [*([("manifest.json", listed)] if manifest else []), *members]:
            entry = zipfile.ZipInfo("x")
            entry.filename = entry.orig_filename = name
            archive.writestr(entry, content, method)
    return Path("bad.olb")


def test_a_member_with_a_hostile_name_is_refused(here, tmp_path):
    for name in (
        "/etc/passwd", "../../outside", "plugins/0/../../../outside.py", "C:/outside", "plugins\\0\\x.py",
        "run\x1b[31m.json", "plugins/0/a\nb.py", "readme.txt", "plugins/0/.py", "plugins/",
    ):  # fmt: skip
        make_zip([("run.json", b"{}"), (name, b"x = 1\n")])
        for words in (("report", "bad.olb"), ("run", "ci", "--reuse", "bad.olb", "--out", "c")):
            err = here.err(*words)
            assert err.startswith("olbench: bad.olb is not a bundle: unexpected member '"), name
            assert err[:-1].isprintable(), name
        assert {path.name for path in tmp_path.iterdir()} == {"bad.olb", "cache"}
        assert not [path for path in tmp_path.rglob("cache/**/*") if path.is_file()]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_is_not_a_bundle_is_refused():
    empty = [("run.json", b"{}")]
    newer = json.dumps({"format": 3, "files": {}}).encode()
    cases = [
        (empty * 2, {}, "unexpected member 'run.json'"),
        (empty, {"method": zipfile.ZIP_LZMA}, "unexpected member 'manifest.json'"),
        (empty, {"method": zipfile.ZIP_BZIP2}, "unexpected member 'manifest.json'"),
        ([("run.json", b" " * (30 << 20))], {}, "would unpack to 2 files of 31,457"),
        ([(f"rules/{n}.yaml", b"") for n in range(1000)], {}, "would unpack to 1,001 files of "),
        (empty, {"manifest": False}, "it has no manifest.json"),
        *(
            ([("manifest.json", listed)], {"manifest": False}, "its manifest.json cannot be read")
            for listed in (b"[]", b"{", b'{"format": 2}', b'{"format": 2, "files": 1}')
        ),
        ([("manifest.json", newer)], {"manifest": False}, "has format 3, and this olbench reads format 2"),
    ]
    assert find_wrong(cases, lambda members, how: load_results(make_zip(members, **how))) == []
    Path("text.olb").write_text("A file with some words in it, and no archive at all.")
    assert "text.olb is damaged, or not a bundle; get the file again" in refusal(load_results, "text.olb")
    path = make_zip([("é.json", b"{}")])
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    assert "bad.olb is damaged, or not a bundle; get the file again" in refusal(load_results, path)
    assert "is a file; name the folder of a run, " in refusal(load_results, Path(__file__))


def test_a_bomb_that_declares_less_than_it_unpacks_to_is_refused(bundle):
    bomb = make_zip([("run.json", b" " * (30 << 20))])
    bomb.write_bytes(bomb.read_bytes().replace(struct.pack("<L", 30 << 20), struct.pack("<L", 1000)))
    assert re.search("is damaged|does not match its checksum", refusal(load_results, bomb))
    rewrite(bundle, trials__json__xz=lzma.compress(b"\0" * (64 << 20)))
    said = refusal(load_results, bundle)
    assert "trials.json.xz is damaged: it unpacks to far more than records do" in said


def test_a_bundle_that_is_cut_off_or_lacks_its_run_is_refused(bundle):
    content = bundle.read_bytes()
    members = read_all(bundle)
    del members["manifest.json"], members["run.json"]
    for share in (0.0, 0.001, 0.3, 0.9, 0.999):
        bundle.write_bytes(content[: int(share * len(content))])
        assert "is damaged, or not a bundle" in refusal(load_results, bundle)
    container.write(bundle, members, {})
    assert "no run in" in refusal(load_results, bundle)


def test_a_changed_byte_is_found_anywhere(bundle):
    content, digest = bundle.read_bytes(), digest_records(ledger.current(find_run(bundle)).values())
    generator = np.random.default_rng(7)
    for place in generator.integers(0, len(content), 60).tolist():
        changed = bytearray(content)
        changed[place] ^= 1 << int(generator.integers(8))
        bundle.write_bytes(changed)
        with suppress(UserError):
            # Some bytes carry no meaning, such as the version that wrote an entry.
            assert digest_records(ledger.current(find_run(bundle)).values()) == digest


def test_a_run_file_that_points_out_of_its_bundle_is_refused(bundle):
    before = read_all(bundle)["run.json"]

    def act(key, value):
        content = json.loads(before)
        content["config"][key] = value
        rewrite(bundle, run__json=json.dumps(content).encode())
        load_results(bundle)

    cases = [
        ("plugins", ["/tmp/evil.py"], "its plugin '/tmp/evil.py' is not in it"),
        ("plugins", ["evil.py"], "its plugin 'evil.py' is not in it"),
        ("plugins", ["plugins/../../evil.py"], "is not in it"),
        ("paper", "/etc/numbers.yaml", "its paper '/etc/numbers.yaml' is not in it"),
        ("datasets", [{"name": "d", "path": "../secret"}], "is in a folder of another machine"),
    ]
    assert find_wrong(cases, act) == []


def test_python_code_in_a_bundle_runs_only_if_it_is_trusted(here, monkeypatch):
    Path("mine.py").write_text(PLUGIN)
    config = {**CONFIG, "algorithms": ["pa1", "mine"], "plugins": ["mine.py"]}
    Path("small.yaml").write_text(json.dumps(config))
    assert here("run", "small.yaml", "--out", "out", "--quiet", "--jobs", 1)[0] == 0
    Path("elsewhere").mkdir()
    assert here("bundle", "out", "-o", "elsewhere/out.olb")[0] == 0
    forget_file(load_file("mine.py"))
    monkeypatch.chdir("elsewhere")
    monkeypatch.setenv("OLBENCH_JOBS", "1")
    Path("mine.py").write_text("raise SystemExit(7)")
    here.out("report", "out.olb", "--format", "json")
    records = ledger.current(find_run("out.olb")).values()
    key = next(each["key"] for each in records if each["algorithm"] == "mine")
    assert "plugin not trusted" in here.out("verify", "out.olb", "--trial", key, code=4)
    out = here.out("verify", "out.olb", "--trials", 4)
    assert "not run, plugin not trusted: 2 trials: mine on breast-cancer (2)" in out
    assert "2 of the 2 trials that can run here ran again" in out
    assert {path.name for path in Path().iterdir()} == {"out.olb", "mine.py"}
    out = here.out("verify", "out.olb", "--trials", 4, "--trust-plugins")
    assert "4 of 4 trials ran again, and all matched exactly" in out
    assert Path("executed").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_kill_leaves_no_half_bundle(tmp_path, number):
    """The file is written slowly, so that the kill hits it."""
    program = (
        "import time, zipfile\nfrom pathlib import Path\nfrom olbench.records import container\n"
        "before = zipfile.ZipFile.open\n"
        "def slowly(self, *words, **options):\n"
        "    print('writing', flush=True)\n    time.sleep(0.2)\n    return before(self, *words, **options)\n"
        "zipfile.ZipFile.open = slowly\n"
        "container.write(Path('x.olb'), {'run.json': b'{}', 'data.json': b'{}'}, {})\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with child:
        assert child.stdout.readline() == b"writing\n"
        child.send_signal(number)
    assert not (tmp_path / "x.olb").exists()
    left = [path.name for path in tmp_path.iterdir()]
    assert all(name.endswith(".part") for name in left)  # as any file that olbench writes
    assert number == signal.SIGKILL or left == []
