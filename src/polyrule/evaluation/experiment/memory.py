"""What a process uses: memory now and at its peak, and processor time."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self


def resident_mb(pid: int | str = "self") -> float | None:
    """Return the memory a process holds, in MB; None where the system does not tell or the process is gone."""
    return _status_mb(pid, "VmRSS")


def cpu_seconds(pid: int) -> float | None:
    """Return the processor time a process has used; None where the system does not tell or the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold spaces
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class PeakMemory:
    """Measure the highest memory of this process while the block runs.

    Attributes
    ----------
    peak_mb : float or None
        The highest level.
    used_mb : float or None
        How far that lies above the level at the start: what the work itself needed.

    Examples
    --------
    >>> with PeakMemory() as memory:
    ...     block = bytearray(50_000_000)
    >>> memory.used_mb is None or memory.used_mb > 40
    True
    """

    def __init__(self) -> None:
        self.peak_mb: float | None = None
        self.used_mb: float | None = None

    def __enter__(self) -> Self:
        _forget_peak()
        self._start = resident_mb()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.peak_mb = _status_mb("self", "VmHWM")
        if self.peak_mb is None:
            self.peak_mb = _peak_of_whole_process()
        if self.peak_mb is not None and self._start is not None:
            self.used_mb = max(0.0, self.peak_mb - self._start)


def _status_mb(pid: int | str, field: str) -> float | None:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return None


def _forget_peak() -> None:
    """Ask Linux to start its record of the peak afresh; elsewhere the peak is that of the whole process."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _peak_of_whole_process() -> float | None:
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
