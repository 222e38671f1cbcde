"""The command line in a terminal of 80 columns: progress, wrapping, colours, Ctrl-C."""

from __future__ import annotations

import os
import re
import select
import signal
import struct
import subprocess
import sys
import time

import pytest
from tests.cli.helpers import PLAIN, PROGRAM, READING, program, run

from polyrule.model import RuleList

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are a Unix thing", allow_module_level=True)

import fcntl
import pty
import termios

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _with_terminal() -> None:
    """Give a program the terminal, and signals as a terminal's programs have them: a shell's background job has not."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """A program running in a pseudo-terminal, and everything it has shown."""

    def __init__(self, *words: object, columns: int = 80, env: dict[str, str] | None = None) -> None:
        self.screen, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        surroundings = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR")}
        self.process = subprocess.Popen(
            [*PROGRAM, *map(str, words)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**surroundings, **PLAIN, "TERM": "xterm-256color", **(env or {})},
            start_new_session=True,
            preexec_fn=_with_terminal,
        )
        os.close(slave)
        self.shown = ""

    def read(self, until: str | None = None, seconds: float = 120) -> str:
        """Read to the end, or until a pattern has been shown."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if until is not None and re.search(until, self.shown):
                return self.shown
            ready, _, _ = select.select([self.screen], [], [], 0.2)
            if not ready:
                continue
            try:
                block = os.read(self.screen, 65536)
            except OSError:  # the other side is closed
                break
            if not block:
                break
            self.shown += block.decode("utf-8", "replace")
        return self.shown

    def type(self, keys: str) -> None:
        os.write(self.screen, keys.encode())

    def finish(self) -> tuple[int, str]:
        self.read()
        code = self.process.wait(180)
        os.close(self.screen)
        return code, self.shown

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def lines(shown: str) -> list[str]:
    """What remains on the screen, roughly: colours gone, and of a line drawn over only the last state."""
    return [ANSI.sub("", line).rstrip("\r").split("\r")[-1] for line in shown.split("\n")]


def test_rules_are_wrapped_at_the_width_of_the_terminal(trained):
    code, shown = Terminal("show", trained).finish()
    assert code == 0
    assert max(map(len, lines(shown))) <= 80
    joined = " ".join(" ".join(lines(shown)).split())
    assert joined == " ".join(str(RuleList.load(trained)).split()), "nothing is lost by wrapping"
    piped = program("show", trained).stdout.splitlines()
    assert len(piped) == len(RuleList.load(trained)) + 1, "one line per rule in a pipe"


@pytest.mark.parametrize("line", ["--help", "train --help", "edit insert --help", "data --list", "measure list"])
def test_nothing_is_wider_than_the_terminal(line):
    code, shown = Terminal(*line.split()).finish()
    assert code == 0
    assert max(map(len, lines(shown))) <= 80


def test_explanations_and_scores_fit(trained, songs):
    for words in (["explain", trained, songs, "--row", "3", "--flip", "calm"], ["evaluate", trained, songs]):
        code, shown = Terminal(*words).finish()
        assert code == 0
        assert max(map(len, lines(shown))) <= 80


def test_progress_and_the_same_rules_in_a_terminal_and_in_a_pipe(songs, tmp_path):
    words = ["train", songs, *READING, "--preset", "paper", "-o", tmp_path / "m.json"]
    code, shown = Terminal(*words, columns=2000).finish()
    assert code == 0
    assert "learning" in shown
    assert "100%" in shown
    assert " rules" in shown
    assert "model written to" in shown
    done = run(*words)
    assert done.exit_code == 0
    assert "learning" not in done.output
    assert "\x1b" not in done.output
    rules = [line for line in lines(shown) if " <- " in line]
    assert rules == [line for line in done.stdout.splitlines() if " <- " in line]
    code, shown = Terminal(*words, "-q").finish()
    assert "learning" not in shown


def test_colours_and_how_to_switch_them_off(tmp_path):
    code, shown = Terminal("show", tmp_path / "nothing.json").finish()
    assert code == 1
    assert "\x1b[31m" in shown
    _, shown = Terminal("show", tmp_path / "nothing.json", env={"NO_COLOR": "1"}).finish()
    assert "\x1b[" not in shown
    assert "Error: " in shown


@pytest.fixture
def background():
    """As a shell without job control starts what it does not wait for: with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("background")
def test_control_c_keeps_the_rules_learned_so_far(tmp_path):
    place = tmp_path / "model.json"
    # The reference engine takes a minute; the limit only guards against waiting for ever.
    slow = ["--kernels", "reference", "--time-limit", "300", "--measure", "precision"]
    terminal = Terminal("train", "emotions:train", *slow, "-o", place)
    try:
        terminal.read(until=r"[1-9]\d* rules")
        terminal.type("\x03")
        code, shown = terminal.finish()
    finally:
        terminal.kill()
    assert code == 130
    kept = re.search(r"interrupted: the (\d+) rules learned so far are kept", " ".join(lines(shown)))
    assert kept is not None, shown[-2000:]
    assert len(RuleList.load(place)) == int(kept[1]) >= 1
