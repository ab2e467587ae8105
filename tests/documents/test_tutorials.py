"""The commands of the pages run in their order and print the lines that are shown."""

import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from olbench.algorithms.definition import REGISTRY
from olbench.plugins import PREFIX
from tests import ROOT

DOCS = ROOT / "docs"
#: A block of code, and the file to save it as if the line before names one.
BLOCK = re.compile(r"(?:`([\w./-]+)`:\n\n)?```(\w+)\n(.*?)```", flags=re.DOTALL)
#: Pages with a walk-through. cluster.md needs processes that listen on ports; tests/engine has clusters.
WALKS = ["index", "data", "own-algorithm", "ci"]


def steps(text):
    """Yield the files to save and the commands to run, each with the lines that it must print."""
    for name, language, content in BLOCK.findall(text):
        if name:
            yield "save", name, content
        elif language == "console":
            for command in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
                line, _, shown = command.partition("\n")
                yield "run", line, shown.splitlines()


def matches(shown, printed):
    """Return whether the lines shown are printed in this order; `...` stands for any text."""
    lines = iter([simplify(line) for line in printed.splitlines()])
    patterns = [re.escape(simplify(line)).replace(r"\.\.\.", ".*") for line in shown]
    return all(any(re.search(pattern, line) for line in lines) for pattern in patterns if pattern != ".*")


def simplify(line):
    """Return a line without its layout: no stars, single spaces, 16 for 16.0."""
    return re.sub(r"(=\d+)\.0\b", r"\1", " ".join(line.replace("*", "").split()))


def forget_plugins():
    """Forget the algorithms of plugins, as the next process does."""
    for name in [name for name in sys.modules if name.startswith(PREFIX)]:
        del sys.modules[name]
    for id in [each.id for each in REGISTRY.values() if each.module.startswith(PREFIX)]:
        del REGISTRY[id]


def test_every_page_with_commands_to_copy_is_tried():
    found = {path.stem for path in DOCS.rglob("*.md") if "```console" in path.read_text(encoding="utf-8")}
    assert found == {*WALKS, "cluster"}


@pytest.mark.parametrize("name", WALKS)
def test_the_commands_of_a_page_print_what_it_shows(name, here, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    code, commands = 0, 0
    for kind, what, content in steps((DOCS / f"{name}.md").read_text(encoding="utf-8")):
        if kind == "save":
            Path(what).parent.mkdir(parents=True, exist_ok=True)
            Path(what).write_text(content, encoding="utf-8")
            continue
        program, *words = shlex.split(what, comments=True)
        if program == "echo":
            assert (words, content) == (["$?"], [str(code)]), what
            code = 0
            continue
        assert code == 0, f"the command before `{what}` ended with {code}"
        if program == "python":
            runpy.run_path(words[0], run_name="__main__")
            printed = capsys.readouterr().out
        else:
            assert program == "olbench"
            forget_plugins()
            code, out, err = here(*words)
            printed = out + err
        assert matches(content, printed), f"$ {what}\n{printed}"
        commands += 1
    assert code == 0, printed
    assert commands


def test_the_commands_of_the_readme_print_what_it_shows(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("docs/examples").mkdir(parents=True)
    shutil.copy(DOCS / "examples/churn.csv", "docs/examples")
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    section = text.partition("## Your CSV in a minute")[2].partition("\n## ")[0]
    commands, shown = re.findall(r"^(?: {4}.*\n|\n(?= {4}))+", section, flags=re.MULTILINE)
    printed = ""
    for line in commands.splitlines():
        program, *words = shlex.split(line, comments=True) or [""]
        if program == "olbench":
            printed += here.out(*words)
    assert matches(shown.splitlines(), printed), printed
