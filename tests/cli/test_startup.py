"""What each command imports: nobody waits for a package that a verb does not need."""

import subprocess
import sys

import pytest

from tests import ROOT

#: What takes longer to import than a verb that does not need it should take.
HEAVY = (
    "numpy", "yaml", "rich", "scipy", "scipy.special", "scipy.sparse", "scipy.stats", "scipy.optimize",
    "numba", "pandas", "matplotlib", "sklearn", "joblib", "jinja2", "requests",
)  # fmt: skip
#: What each command imports of these, and nothing else. `{small}` is the folder of a run, `{table}` a table.
IMPORTED = {
    "list": "rich",
    "data list": "numpy yaml rich",
    "data info ijcnn1": "numpy yaml rich",
    "algorithms": "numpy yaml rich scipy scipy.sparse",
    "algorithms scw1": "numpy yaml rich scipy scipy.sparse",
    "init --schema": "numpy yaml scipy scipy.sparse",
    "report scw": "numpy yaml rich scipy scipy.special scipy.sparse",
    "report {small} --full": "numpy yaml rich scipy scipy.special scipy.sparse scipy.stats scipy.optimize",
    "summary {small}": "numpy yaml rich scipy scipy.special scipy.sparse",
    "init {table}": "numpy yaml scipy scipy.sparse pandas",
    "run quick --dry-run": "numpy yaml rich scipy scipy.special scipy.sparse numba joblib",
}
COMMAND = """
import sys
from olbench.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*(name for name in HEAVY if name in sys.modules))
"""


@pytest.mark.parametrize("command", IMPORTED)
def test_a_command_imports_what_it_needs(command, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b,label\n1,2,x\n2,1,y\n")
    words = command.format(small=ROOT / "tests/report/small", table=table).split()
    program = [sys.executable, "-c", f"HEAVY = {HEAVY}\n{COMMAND}", *words]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()[-1].split()) <= set(IMPORTED[command].split())


def test_the_help_of_every_verb_and_the_plots_import_nothing_heavy():
    program = (
        f"HEAVY = {HEAVY}\nimport sys, olbench, olbench.plot\nfrom click.testing import CliRunner\n"
        "from olbench.cli import VERBS, cli\n"
        "for verb in VERBS:\n    assert CliRunner().invoke(cli, [verb, '--help']).exit_code == 0\n"
        "print([name for name in HEAVY if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
