"""Command lines: any verb with any value of any option does its work, or refuses in one sentence."""

import contextlib
import io
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import click

from olbench.cli import cli
from olbench.errors import UserError
from tests.fuzz.harness import Difference, expect_sentence

#: Verbs that take neither a network nor long.
VERBS = ("run", "report", "summary", "check", "explain", "rerun", "list", "init",
         "algorithms", "conform", "data list", "data info", "data verify", "advice show")  # fmt: skip
#: What goes on until it is stopped, or starts processes.
LEFT_OUT = ("cluster", "help", "memory", "program", "survey", "all_data")
FILES = {
    "small.libsvm": "".join(f"{1 if k % 3 else -1} 1:{k % 7} 2:{k * k % 5}\n" for k in range(30)),
    "table.csv": "size,colour,sold\n1,red,yes\n2,blue,no\n,red,yes\n4,blue,no\n",
    "tiny.yaml": "permutations: 2\ndatasets: [{path: small.libsvm}]\nalgorithms: [perceptron]\n",
    "broken.yaml": "datasets: [\n",
    "rules.yaml": "rules:\n  - x1 >= 1 => 1\n",
    "plugin.py": "raise ValueError('no')\n",
    "learner.py": "def step(state, x, y):\n    return 0.0 * x if state is None else state\n",
}
WORDS = (
    *FILES, "results/run", "results", "base.json", "nowhere/x", "", " ", ".", "x", "tiny", "é", "a\nb",
    "\udcff",
    "x" * 300, "9" * 400, "-1", "0", "1", "2", "3.5", "nan", "1e999", "inf", "~nosuchuser/x", "arow",
    "perceptron", "arow,perceptron", "arow,,", "synthetic", "breast-cancer", "scw2012", "html", "json", "a=b",
    "permutations=1", "seed=x", "tuning.search=grid", "a.b.c=[", "=", "=[1", "sold", "red", ";", "tab", "1G",
)  # fmt: skip
#: What arguments are, by their names in the code.
LIKELY = {
    "folders": "results/run",
    "folder": "results/run",
    "config": "tiny.yaml",
    "what": "tiny.yaml",
    "rules": "rules.yaml",
    "file": "table.csv",
    "key": "0",
    "id": "arow",
    "spec": "learner.py:step",
}
#: Exit codes that a verb may end with besides 2.
CODES = (0, 1, 3, 4)


class CommandFuzzer:
    """A verb with words for its arguments and some of its options, in a folder with files of every kind."""

    name = "command"

    def make(self, random: random.Random) -> bytes:
        """Return the words as JSON."""
        verb = random.choice(VERBS)
        words = verb.split()
        for parameter in _parameters(words):
            if isinstance(parameter, click.Argument):
                wanted = random.choice((1, 1, 1, 2)) if parameter.nargs == -1 else int(random.random() < 0.95)
                words += [_word(random, parameter) for _ in range(wanted)]
            elif random.random() < 0.15 and parameter.name not in LEFT_OUT:
                words.append(random.choice(parameter.opts))
                if not (isinstance(parameter, click.Option) and parameter.is_flag):
                    words.append(_word(random, parameter))
        return json.dumps(words).encode()

    def check(self, content: bytes, folder: Path) -> str:
        """Run the words in a fresh copy of the folder."""
        words = json.loads(content)
        here, place = os.getcwd(), folder / "command"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(_prepared(folder), place)
        os.chdir(place)
        out, err = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = cli.main(words, prog_name="olbench", standalone_mode=False) or 0
        except SystemExit as end:
            code = end.code or 0
        except UserError as error:
            expect_sentence(error)
            return "refused"
        except (click.ClickException, OSError):
            return "refused"
        finally:
            os.chdir(here)
        if "Traceback" in err.getvalue() or "Warning:" in err.getvalue():
            raise Difference(f"a traceback or a warning is printed: {err.getvalue()[-80:]!r}")
        if code == 2:
            return "refused"
        if code not in CODES:
            raise Difference(f"the exit code is {code}")
        return "accepted"


def _prepared(folder: Path) -> Path:
    """Return the folder with files of every kind, among them a run and a baseline."""
    place = folder / "prepared"
    if not place.is_dir():
        made = folder / "made"
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        for name, text in FILES.items():
            (made / name).write_text(text)
        here = os.getcwd()
        os.chdir(made)
        try:
            for words in (
                ["run", "tiny.yaml", "-q", "--out", "results/run"],
                ["check", "tiny.yaml", "-q", "--update", "--against", "base.json"],
            ):
                with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                    cli.main(words, prog_name="olbench", standalone_mode=False)
        finally:
            os.chdir(here)
        made.rename(place)
    return place


def _parameters(words: list[str]) -> list[click.Parameter]:
    command: Any = cli
    for word in words:
        command = command.get_command(click.Context(command), word)
    return list(command.params)


def _word(random: random.Random, parameter: click.Parameter) -> str:
    """Return a word that a parameter takes, or any other."""
    if isinstance(parameter.type, click.Choice) and random.random() < 0.7:
        return str(random.choice(list(parameter.type.choices)))
    if isinstance(parameter.type, click.IntRange | click.FloatRange) and random.random() < 0.7:
        return random.choice(("1", "2", "3"))
    if isinstance(parameter, click.Argument) and random.random() < 0.6:
        return LIKELY.get(parameter.name or "", "small.libsvm")
    return random.choice(WORDS)
