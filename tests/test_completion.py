"""The shell completes after one command, which changes what it says and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent


def run(home: Path, *command: str, **environment: str) -> subprocess.CompletedProcess:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    everything = {**plain, "HOME": str(home), "PATH": path, "ZDOTDIR": "", "TERM": "dumb", **environment}
    return subprocess.run(command, env=everything, capture_output=True, text=True, cwd=home)


def install(home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    return run(home, "olbench", "completion", "install", *words, **environment)


def test_a_real_bash_completes_after_one_command(tmp_path):
    (tmp_path / ".bashrc").write_text("export KEPT=yes")
    done = install(tmp_path, SHELL="/bin/bash")
    script, startup = tmp_path / ".local/share/olbench/completion.bash", tmp_path / ".bashrc"
    assert done.stdout.splitlines() == [f"{script} written", f"{startup} written", "it works in new shells"]
    assert startup.read_text().startswith("export KEPT=yes\n")
    # What bash does at the Tab key: it looks up the function for the command, and calls it.
    ask = (
        ". ~/.bashrc; complete -p olbench; COMP_WORDS=(olbench rep); COMP_CWORD=1; "
        "_olbench_completion olbench rep olbench; echo ${COMPREPLY[@]} $KEPT"
    )
    done = run(tmp_path, "bash", "--norc", "-c", ask)
    assert done.stdout.splitlines()[-1] == "report yes", done.stderr
    assert "-F _olbench_completion olbench" in done.stdout


def test_a_second_time_changes_nothing(tmp_path):
    install(tmp_path, "bash")
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = install(tmp_path, "bash")
    assert done.stdout == "it is installed already; no file was changed\n"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


def test_print_changes_no_file(tmp_path):
    done = install(tmp_path, "bash", "--print")
    assert "_olbench_completion() {" in done.stdout
    assert not (tmp_path / ".bashrc").exists()
    assert not (tmp_path / ".local/share").exists()


def test_a_shell_without_completion_is_named(tmp_path):
    done = install(tmp_path, SHELL="/bin/tcsh")
    assert done.returncode == 2
    assert done.stderr == (
        "olbench: $SHELL is 'tcsh', for which there is no completion; name bash, zsh, fish\n"
    )


def test_a_real_zsh_completes_after_one_command(tmp_path):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    assert install(tmp_path, "zsh").returncode == 0
    done = run(tmp_path, "zsh", "-c", ". ~/.zshrc; print $_comps[olbench]")
    assert done.stdout == "_olbench_completion\n", done.stderr


def test_a_real_fish_completes_after_one_command(tmp_path):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    done = install(tmp_path, "fish")
    assert done.stdout.splitlines()[0] == f"{tmp_path / '.config/fish/completions/olbench.fish'} written"
    done = run(tmp_path, "fish", "-c", "complete --do-complete 'olbench rep'")
    assert done.stdout.startswith("report"), done.stderr
