"""What docs/advice.md shows is what happens, and an installed package has the rule files."""

import contextlib
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from olbench.advice.files import shipped_rules
from olbench.cli.advice import render
from olbench.report.advice import make_account

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/advice.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says():
    [code] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert "".join(f"    {line}\n" for line in printed.getvalue().splitlines()) in PAGE


def test_the_command_prints_what_the_page_says(mirror):
    shown = render(make_account("pima", "pima"))
    page = " ".join(PAGE.split())
    for line in shown.splitlines():
        assert " ".join(line.split()) in page


def test_a_wheel_has_the_rule_files(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"olbench/datasets/rules/{name}.yaml" for name in shipped_rules()} <= names
