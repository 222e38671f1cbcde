"""Fetch a file: resumable, checked, and never half there."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from polyrule.errors import DataError
from polyrule.locks import hold
from polyrule.version import __version__

Progress = Callable[[int, int | None], None]

CHUNK = 1 << 18
LARGEST_FILE = 4 << 30
TIMEOUT = 30.0
ATTEMPTS = 3
PAUSE = 1.0
_log = logging.getLogger(__name__)


class Unreachable(DataError):
    """The file could not be fetched: no network, or the server does not have it."""


def fetch(url: str, target: Path, progress: Progress | None = None, largest: int = LARGEST_FILE) -> Path:
    """Download `url` to `target`.

    The content goes to a ``.part`` file first and is renamed when it is complete, so that `target` is whole or absent.
    A download that was cut off goes on where it stopped, if the server says that the file is still the same.

    Parameters
    ----------
    url : str
        With http or https.
    target : Path
    progress : callable, optional
        Called with the bytes fetched so far and the total, None if it is not known.
    largest : int
        Most bytes to accept.

    Raises
    ------
    Unreachable
        If the network or the server fails.
    """
    if not url.startswith(("http://", "https://")):
        raise DataError(f"{url}: only http and https addresses are fetched")
    target.parent.mkdir(parents=True, exist_ok=True)
    with _own_part(target) as part:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                _transfer(url, part, progress, largest)
                break
            except urllib.error.HTTPError as problem:
                raise Unreachable(f"{url}: the server answered {problem.code} {problem.reason}") from problem
            except (OSError, http.client.HTTPException) as problem:
                _log.info("download of %s failed (attempt %d): %s", url, attempt, problem)
                if attempt == ATTEMPTS:
                    raise Unreachable(f"{url}: cannot be reached ({_reason(problem)})") from problem
                time.sleep(PAUSE * attempt)
        os.replace(part, target)
        _remembered(part).unlink(missing_ok=True)
    return target


@contextlib.contextmanager
def _own_part(target: Path) -> Iterator[Path]:
    """The shared ``.part`` file if no other process is at it, else one of our own."""
    with hold(target.with_name(target.name + ".lock")) as free:
        if free:
            yield target.with_name(target.name + ".part")
            return
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)
            _remembered(part).unlink(missing_ok=True)


def _remembered(part: Path) -> Path:
    """Where the server's name for this version of the file is kept while it is incomplete."""
    return part.with_name(part.name + ".json")


def _transfer(url: str, part: Path, progress: Progress | None, largest: int) -> None:
    have = part.stat().st_size if part.is_file() else 0
    version = _read_version(part) if have else None
    headers = {"User-Agent": f"polyrule/{__version__}", "Accept-Encoding": "identity"}
    if have and version:
        headers |= {"Range": f"bytes={have}-", "If-Range": version}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        resumed = answer.status == 206 and _resumes_at(answer, have)
        have = have if resumed else 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length and length.isdigit() else None
        if total is not None and total > largest:
            raise DataError(f"{url}: {total} bytes are more than the {largest} that are accepted")
        _remember_version(part, answer)
        with part.open("ab" if resumed else "wb") as out:
            while block := answer.read(CHUNK):
                out.write(block)
                have += len(block)
                if have > largest:
                    raise DataError(f"{url}: more than {largest} bytes were sent")
                if progress is not None:
                    progress(have, total)
    if total is not None and have != total:
        raise ConnectionError(f"the connection broke off after {have} of {total} bytes")


def _resumes_at(answer: Any, have: int) -> bool:
    return str(answer.headers.get("Content-Range", "")).startswith(f"bytes {have}-")


def _read_version(part: Path) -> str | None:
    try:
        found = json.loads(_remembered(part).read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, str) else None


def _remember_version(part: Path, answer: Any) -> None:
    etag = answer.headers.get("ETag")
    version = etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified")
    if version:
        _remembered(part).write_text(json.dumps(version))
    else:
        _remembered(part).unlink(missing_ok=True)


def _reason(problem: BaseException) -> str:
    reason = getattr(problem, "reason", problem)
    return " ".join(str(reason).split()) or type(problem).__name__
