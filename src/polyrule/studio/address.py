"""Address of a studio, remembered by project: after a restart, an old tab finds its way.

The file is in the user's cache folder, readable by the user alone, and never beside the project, because a project may
come from another person.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from polyrule.datasets.remote import cache_folder

_TOKEN = re.compile(r"[A-Za-z0-9_-]{32}")
_PORTS = range(1024, 65536)


@dataclass(frozen=True)
class Address:
    """Port and secret token of a studio; port 0 takes a free one."""

    port: int
    token: str

    @classmethod
    def fresh(cls, port: int = 0) -> Address:
        """Return an address with a token of 192 random bits."""
        return cls(port, secrets.token_urlsafe(24))


def last_address(project: Path) -> Address | None:
    """Return the address that the studio of a project had before; None if there is none that can be used."""
    path = _place(project)
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            return None
        stored = json.loads(path.read_text(encoding="utf-8"))
        port, token = stored["port"], stored["token"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    usable = isinstance(port, int) and port in _PORTS and isinstance(token, str) and _TOKEN.fullmatch(token)
    return Address(port, token) if usable else None


def remember_address(project: Path, address: Address) -> None:
    """Write the address of a project's studio; without a place for it, the next studio has another one."""
    path = _place(project)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            json.dump(asdict(address), stream)


def _place(project: Path) -> Path:
    name = hashlib.sha256(str(project.resolve()).encode()).hexdigest()[:32]
    return Path(cache_folder()) / "studio" / f"{name}.json"
