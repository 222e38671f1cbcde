"""Every command that the documentation and the help texts show exists, with the options they show."""

import re
import shlex
import shutil
from pathlib import Path

import click
import pytest
from tests.cli.helpers import ok
from tests.cli.test_app import all_commands

from polyrule.cli.app import COMMANDS, app

DOCS = Path(__file__).resolve().parents[2] / "docs"


def examples() -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in (DOCS / "cli.md", DOCS / "model-file.md")]
    texts += [command.help or "" for _, command in all_commands()] + [app.help or ""]
    lines = [line.strip().removeprefix("$ ") for text in texts for line in text.splitlines()]
    lines += re.findall(r"`(polyrule [^`]+)`", "\n".join(texts[:2]))
    shown = [line for line in lines if re.match(r"(cat \S+ \| )?polyrule [a-z]+", line)]
    return sorted({line for line in shown if "COMMAND" not in line})


def words_of(line: str) -> list[str]:
    """The words after ``polyrule``, up to a pipe, a redirection or a comment."""
    words = shlex.split(line.partition("polyrule ")[2], comments=True)
    ends = [i for i, word in enumerate(words) if word in ("|", ">", ">>")]
    return words[: ends[0]] if ends else words


def test_there_are_examples():
    assert len(examples()) > 40
    assert {words_of(line)[0] for line in examples()} >= set(COMMANDS)


@pytest.mark.parametrize("line", examples())
def test_the_example_can_be_typed(line):
    words = words_of(line)
    context = click.Context(app, info_name="polyrule")
    command = app.get_command(context, words.pop(0))
    assert command is not None
    if isinstance(command, click.Group) and words:
        context = click.Context(command, info_name=command.name, parent=context)
        command = command.commands[words.pop(0)]
    context = click.Context(command, info_name=command.name, parent=context, **command.context_settings)
    command.make_parser(context).parse_args(words)


def test_the_explanation_in_the_documentation_is_what_comes_out(tmp_path, monkeypatch):
    """The commands run on files of the tutorial, so everybody can repeat them."""
    monkeypatch.chdir(tmp_path)
    for name in ("wines.csv", "new-wines.csv"):
        shutil.copy(DOCS / "tutorial" / name, name)
    section = (DOCS / "cli.md").read_text(encoding="utf-8").partition("## Explaining")[2]
    block = section.split("```")[1].removeprefix("text").strip("\n")
    commands = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    shown = [line for line in block.splitlines() if not line.startswith("$ ")]
    train, explain = commands
    ok(*words_of(train))
    assert ok(*words_of(explain)).splitlines() == shown
