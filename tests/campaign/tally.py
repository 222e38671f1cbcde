"""What a campaign has compared so far, kept from run to run."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from polyrule.utils.compute import native


@cache
def core() -> str:
    """A name for the compiled core: a digest of its file."""
    path = None if native is None else native.__file__
    return "none" if path is None else hashlib.blake2b(Path(path).read_bytes(), digest_size=6).hexdigest()


@dataclass
class Tally:
    """The worlds of one seed compared on one core.

    `rules` are rules of the compiled engine or the twin, by kind, each compared with a rule of the reference; one rule
    of the reference serves several sets of limits.
    """

    core: str
    seed: int
    worlds: int = 0
    of_reference: int = 0
    cpu_minutes: float = 0
    rules: Counter[str] = field(default_factory=Counter)
    mismatches: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add what was compared after it."""
        self.worlds += other.worlds
        self.of_reference += other.of_reference
        self.cpu_minutes += other.cpu_minutes
        self.rules.update(other.rules)
        self.mismatches.update(other.mismatches)

    def save(self, folder: Path) -> None:
        """Keep it, whole or not at all."""
        path = _path(folder, self.core, self.seed)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(vars(self), indent=1), encoding="utf-8")
        part.replace(path)

    def line(self) -> str:
        """In one line."""
        return (
            f"core {self.core}, seed {self.seed}: {self.worlds} worlds, {self.rules.total()} rules compared with "
            f"{self.of_reference} of the reference, {self.mismatches.total()} mismatches, "
            f"{self.cpu_minutes:.1f} CPU minutes"
        )

    def __str__(self) -> str:
        kinds = [*sorted(self.rules.items()), *(("MISMATCH " + kind, n) for kind, n in self.mismatches.most_common())]
        return "\n".join([self.line(), *(f"  {count:9} {kind}" for kind, count in kinds)])


def kept(folder: Path, core: str, seed: int) -> Tally:
    """Return the tally of a core and a seed; an empty one if there is none."""
    path = _path(folder, core, seed)
    if not path.exists():
        return Tally(core, seed)
    found = json.loads(path.read_text(encoding="utf-8"))
    return Tally(**found | {name: Counter(found[name]) for name in ("rules", "mismatches")})


def _path(folder: Path, core: str, seed: int) -> Path:
    return folder / f"tally_{core}_{seed}.json"
