"""The directive ``{cli-reference}``: usage, options and examples of every command, read from the program itself.

The page therefore says what ``--help`` says, and a new command is on it without being asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from polyrule.cli.app import app as program

# Options that every command has, and the command that shows those for reading data.
SHARED = ("config", "dump_config")
READER = "train"
SHARED_TEXT = (
    "Every command also takes `--config FILE` (options from a TOML file), `--dump-config` (print all options as such a "
    "file) and `-h`."
)


class CliReference(SphinxDirective):
    """Renders the program with the option ``:program:``, and else, each under a heading, its commands."""

    option_spec = {"program": directives.flag}  # noqa: RUF012 - docutils' way

    def run(self) -> list[nodes.Node]:
        """Turn the commands into Markdown and let the page's own parser read it."""
        context = click.Context(program, info_name="polyrule")
        if "program" in self.options:
            return self.parse_text_to_nodes("\n".join([*_describe(context, program), SHARED_TEXT]))
        lines: list[str] = []
        for name in program.list_commands(context):
            command = program.get_command(context, name)
            assert command is not None
            lines += [f"## {name}", "", *_describe(click.Context(command, info_name=name, parent=context), command)]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _describe(context: click.Context, command: click.Command) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from ("```text", usage, "```", "")
    yield from _prose(command.help or "")
    for title, options in _groups(command):
        if _is_shared(title, context):
            yield from (f"**{title}**: the options of [`{READER}`](#{READER}).", "")
            continue
        yield from (f"**{title}**", "")
        for option in options:
            yield from _option(option, context)
    if isinstance(command, click.Group) and command is not program:
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            assert part is not None
            inner = click.Context(part, info_name=name, parent=context)
            yield from ("", f"**`{inner.command_path}`**", "")
            yield from _describe(inner, part)


def _prose(text: str) -> Iterator[str]:
    """The help text: paragraphs, and after a backspace character the lines as they are."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = [line.rstrip() for line in paragraph.splitlines()]
        if lines and lines[0].strip() == "\b":
            yield from ("```text", *_undent(lines[1:]), "```", "")
        else:
            yield from (_escape(" ".join(line.strip() for line in lines)), "")


def _undent(lines: list[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def _groups(command: click.Command) -> Iterator[tuple[str, list[click.Option]]]:
    """The options under the headings of the help text, in its order; what all commands share is described once."""
    groups: dict[str, list[click.Option]] = {"Options": []}
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden and option.name not in SHARED:
            groups.setdefault(getattr(option, "section", "") or "Options", []).append(option)
    yield from ((title, options) for title, options in groups.items() if options)


def _is_shared(title: str, context: click.Context) -> bool:
    return title.startswith("Reading DATA") and context.info_name != READER


def _option(option: click.Option, context: click.Context) -> Iterator[str]:
    record = option.get_help_record(context)
    if record is not None:
        names, words = record
        yield from (f"`{names.strip()}`", f": {_escape(' '.join(words.split()))}", "")


def _escape(text: str) -> str:
    return re.sub(r"([\\`*_<>$\[\]{}|#])", r"\\\1", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("cli-reference", CliReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
