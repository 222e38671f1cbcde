import inspect
import os
import subprocess
import sys
from importlib import import_module
from typing import get_args

import click
import pytest
from tests.cli.helpers import PLAIN, PROGRAM, ok, program, run

from polyrule.cli.app import COMMANDS, app
from polyrule.cli.learner_options import LEARNERS, read_parameters
from polyrule.utils.compute import which_kernels
from polyrule.utils.version import __version__


def all_commands():
    context = click.Context(app)
    for name in COMMANDS:
        command = app.get_command(context, name)
        yield name.split(), command
        if isinstance(command, click.Group):
            for part, inner in command.commands.items():
                yield [name, part], inner


def test_the_list_of_commands():
    text = ok("--help")
    for name, line in COMMANDS.items():
        assert name in text
        assert line.split()[0] in text
    assert "Exit codes" in text
    assert max(map(len, text.splitlines())) <= 80


def test_help_comes_with_examples_on_every_command():
    for words, _ in all_commands():
        text = ok(*words, "--help")
        assert "Example" in text, words
        assert f"polyrule {words[0]}" in text
        assert "\\b" not in text


def test_every_command_that_prints_results_can_print_json():
    without = {("completion",), ("report",), ("studio",), ("edit",), ("measure",)}
    for words, command in all_commands():
        names = {option for param in command.params for option in param.opts}
        assert "--json" in names or tuple(words) in without, words


def test_help_needs_nothing_heavy():
    code = (
        "import sys\nfrom polyrule.cli import app\nfrom polyrule.cli.app import COMMANDS\n"
        "for words in (['--help'], *([name, '--help'] for name in COMMANDS)):\n"
        "    try:\n        app.main(words)\n    except SystemExit:\n        pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_options_of_learners_are_read_without_importing_them_and_are_theirs():
    for home in LEARNERS.values():
        read, real = read_parameters(*home), inspect.signature(getattr(import_module(home[0]), home[1])).parameters
        assert {name: (one.annotation, one.default) for name, one in read.items()} == {
            name: (one.annotation, one.default) for name, one in real.items()
        }
        assert all(one.kind and one.text for one in read.values())


def without_compiled_kernels(*words):
    """Run a command as on a machine where the package was installed without a compiler."""
    code = (
        "import sys\nsys.modules['polyrule._native'] = None\nfrom polyrule.cli import main\n"
        f"sys.argv = ['polyrule', *{words!r}]\nmain()"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_without_compiled_kernels_everything_works_and_learning_says_once_that_it_is_slow(tmp_path):
    assert "(NumPy kernels)" in without_compiled_kernels("--version").stdout
    data = tmp_path / "small.csv"
    data.write_text("size,red\n1,0\n2,0\n3,1\n4,1\n")
    model = tmp_path / "model.json"
    learned = without_compiled_kernels("train", str(data), "--labels", "red", "-o", str(model), "--cv", "2")
    assert learned.returncode == 0, learned.stderr
    assert learned.stderr.count("slow NumPy kernels") == 1
    shown = without_compiled_kernels("show", str(model))
    assert (shown.returncode, shown.stderr) == (0, "")


def test_the_package_is_the_command_too():
    done = subprocess.run([sys.executable, "-m", "polyrule", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in done.stdout


def test_version():
    assert ok("--version").strip() == f"polyrule, version {__version__} ({which_kernels()})"


@pytest.mark.parametrize("line", ["nonsense", "train", "show --nonsense", "show a b", "train x --cv 1"])
def test_wrong_usage_is_exit_code_2(line):
    result = run(*line.split())
    assert result.exit_code == 2
    assert "Usage: polyrule" in result.stderr
    assert "Error: " in result.stderr


def test_errors_are_one_sentence_without_traceback(tmp_path):
    result = run("show", tmp_path / "nothing.json")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("Error: ")
    assert "there is no such model file" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_where_an_error_came_from(tmp_path, place):
    words = ["show", tmp_path / "nothing.json"]
    result = run(*(["--debug", *words] if place == "before" else [*words, "--debug"]))
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "polyrule.errors.ModelError" in result.stderr


def test_what_nobody_foresaw_is_said_to_be_internal(monkeypatch, model):
    def fail(*_args, **_options):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("polyrule.cli.show.load_model", fail)
    result = run("show", model)
    assert result.exit_code == 1
    assert result.stderr == "Error: internal error (ZeroDivisionError: oops); run again with --debug to see where\n"


def test_interruption_is_exit_code_130(monkeypatch, model):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("polyrule.cli.show.load_model", interrupt)
    result = run("show", model)
    assert (result.exit_code, result.stderr.strip()) == (130, "Error: interrupted")


def test_memory_that_runs_out_is_said(monkeypatch, model):
    def full(*_args, **_options):
        raise MemoryError

    monkeypatch.setattr("polyrule.cli.show.load_model", full)
    assert "not enough memory" in run("show", model).stderr


def test_a_closed_pipe_ends_quietly(trained):
    writer = subprocess.Popen(
        [*PROGRAM, "show", str(trained), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **PLAIN},
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.close()
    assert writer.stderr.read() == ""
    assert writer.wait(60) == 0
    writer.stderr.close()


def test_colour_only_where_it_is_wanted(tmp_path):
    for env in ({}, {"NO_COLOR": "1"}):
        done = program("show", tmp_path / "nothing.json", env=env)
        assert done.returncode == 1
        assert "\x1b" not in done.stderr


def test_names_that_the_output_cannot_hold_are_escaped(tmp_path, songs):
    odd = tmp_path / "odd.csv"
    odd.write_text(songs.read_text().replace("calm", "ruhig·名"), encoding="utf-8")
    env = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = program("train", odd, "--labels", "ruhig·名", "--drop", "id,happy,sad", "--teacher", "none", env=env)
    assert done.returncode == 0, done.stderr
    assert "1 rule" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    assert "_POLYRULE_COMPLETE" in ok("completion", shell)


def test_completion_knows_commands_options_and_data_sets():
    def offered(*words: str) -> list[str]:
        env = {"_POLYRULE_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        done = program(env={**os.environ, **env})
        assert done.returncode == 0, done.stderr
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert offered("polyrule", "exp") == ["explain", "export", "experiment"]
    assert "--measure" in offered("polyrule", "train", "--me")
    assert "emotions" in offered("polyrule", "train", "emo")


def test_choices_of_calibrate_are_those_of_guarantees():
    from polyrule.cli import calibrate
    from polyrule.model.guarantee import Level, Risk

    assert get_args(Risk) == calibrate.RISKS
    assert get_args(Level) == calibrate.LEVELS
