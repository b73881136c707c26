"""Parsing, exit codes, errors in one line, quick start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipefill_opt import __version__
from pipefill_opt.cli import run
from pipefill_opt.errors import CertificateError, InfeasibleError, InputError, LimitError
from pipefill_opt.solve.facade import solver_names
from tests.cli.samples import INSTANCE, MAIN, Shell

COMMANDS = ["bubbles", "import", "export", "solve", "certify", "explain", "schema", "instances", "versions", "demo"]
HEAVY = ["numpy", "numba", "scipy", "networkx", "pulp", "highspy", "ortools", "yaml", "jsonschema", "matplotlib"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(shell: Shell, command: str) -> None:
    ran = shell(command, "--help")
    assert ran.code == 0
    assert f"pipefill {command}" in ran.out
    assert command in shell("--help").out


def test_version(shell: Shell) -> None:
    assert shell("--version").out == f"pipefill {__version__}\n"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "required: COMMAND"),
        (["fly"], "'fly'"),
        (["solve"], "required: INSTANCE"),
        (["solve", "instance.yaml", "--time-limit", "-1"], "-1: expected a number of seconds above 0"),
        (["solve", "instance.yaml", "--time-limit", "nan"], "nan: expected a number of seconds above 0"),
        (["solve", "instance.yaml", "--gap", "-0.1"], "-0.1: expected a number of 0 or more"),
        (["solve", "instance.yaml", "--gap", "much"], "much: expected a number of 0 or more"),
        (["solve", "instance.yaml", "--seed", "-1"], "-1: expected a whole number from 0"),
        (["solve", "instance.yaml", "--solver", "magic"], "--solver: magic: expected one of auto, greedy"),
        (["solve", "instance.yaml", "--format", "xml"], "'xml'"),
        (["solve", "instance.yaml", "-o", "."], ".: expected a file to write, not a folder"),
        (["bubbles", "main.yaml", "--gantt", "a.pdf"], "a.pdf: expected a name that ends in .svg or .png"),
        (["bubbles", "main.yaml", "--gantt", "main.yaml/a.svg"], "main.yaml/a.svg: expected a writable place"),
        (["import", "gantt", "main.yaml"], "'gantt'"),
        (["schema", "planet"], "planet: expected one of coefficients, hardware"),
    ],
)
def test_usage_errors_are_one_line(shell: Shell, words: list[str], part: str) -> None:
    before = sorted(path.name for path in shell.folder.iterdir())
    ran = shell(*words)
    assert ran.code == 2
    assert ran.out == ""
    assert len(ran.lines) == 1
    assert ran.err.startswith("error: ")
    assert part in ran.err
    assert sorted(path.name for path in shell.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("expected more"), 2),
        (InfeasibleError("none"), 1),
        (LimitError("late"), 3),
        (CertificateError("broken"), 4),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("two\nlines"), 70),
    ],
)
def test_errors_become_exit_codes(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(run.data, "run_versions", fail)
    ran = shell("versions")
    assert ran.code == code
    assert len(ran.lines) == 1
    assert "Traceback" not in ran.err


def test_debug_shows_the_traceback_of_a_bug(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("why")

    monkeypatch.setattr(run.data, "run_versions", fail)
    with pytest.raises(ZeroDivisionError):
        shell("versions", "--debug")


def test_the_help_of_solve_names_every_solver(shell: Shell) -> None:
    text = "".join(shell("solve", "--help").out.split())  # lines may break at a hyphen
    named = text[text.index("auto,") : text.index("(default:auto)")].split(",")
    assert sorted(named) == sorted(solver_names())


def test_help_and_versions_import_nothing_heavy() -> None:
    code = (
        "import sys; from pipefill_opt.cli.run import main; main(['--help']); main(['versions']); "
        f"sys.exit(','.join(set({HEAVY!r}) & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_module_runs_and_a_closed_pipe_is_quiet(shell: Shell) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        command = [sys.executable, "-m", "pipefill_opt.cli", "schema", "instance"]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_console_script_is_declared() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert 'pipefill = "pipefill_opt.cli:entry"' in text


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "instance.yaml", "-o", "instance.yaml"],
        ["solve", "instance.yaml", "-o", "link.yaml"],
        ["solve", "instance.yaml", "-o", "new.svg", "--gantt", "./new.svg"],
        ["bubbles", "main.yaml", "--gantt", "a.svg", "--trace", "a.svg"],
    ],
)
def test_no_output_replaces_an_input_or_another_output(shell: Shell, words: list[str]) -> None:
    shell.write("instance.yaml", INSTANCE)
    shell.write("main.yaml", MAIN)
    (shell.folder / "link.yaml").symlink_to("instance.yaml")
    before = {path.name: path.read_text() for path in shell.folder.iterdir()}
    ran = shell(*words)
    assert ran.code == 2
    assert len(ran.lines) == 1
    assert "expected a file that this command does not read or write already" in ran.err
    assert {path.name: path.read_text() for path in shell.folder.iterdir()} == before


def piped(words: list[str], *, shell: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m pipefill_opt.cli {' '.join(words)} {shell}"
    variables = {**os.environ, **environment}
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False, cwd=folder, env=variables, timeout=60
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_full_stdout_is_one_line(tmp_path: Path) -> None:
    done = piped(["schema", "main"], shell="> /dev/full", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: stdout: expected a writable place (No space left on device)\n"


def test_a_closed_stdout_swallows_what_it_is_given(tmp_path: Path) -> None:
    done = piped(["schema", "main"], shell=">&-", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_that_the_terminal_cannot_spell(shell: Shell) -> None:
    shell.write("instance.yaml", INSTANCE.replace("bert", "bért→"))
    done = piped(["solve", "instance.yaml"], shell="", folder=shell.folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "b\\xe9rt\\u2192" in done.stdout


def test_a_folder_that_cannot_be_made_is_told_before_the_work(shell: Shell) -> None:
    shell.write("file", "text")
    ran = shell("demo", "-o", "file/inside")
    assert ran.code == 2
    assert len(ran.lines) == 1
    assert "expected a writable place" in ran.err
