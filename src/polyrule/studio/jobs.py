"""Long work in a thread: it reports progress, and ends on request."""

from __future__ import annotations

import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from polyrule.errors import PolyruleError

logger = logging.getLogger(__name__)
_NUMBERS = itertools.count(1)
#: events of a job that are kept; the page reads them as they come
MOST_EVENTS = 2000


class Job:
    """One piece of long work, which gets the job and returns the result for the page; None if cancelled.

    A job that `waits` lets everything else go first, where the system can order threads.
    """

    def __init__(self, work: Callable[[Job], dict[str, Any] | None], waits: bool = False) -> None:
        self.waits = waits
        self.number = next(_NUMBERS)
        self.events: list[dict[str, Any]] = []
        self.stopping = self.cancelled = self.finished = False
        self._work, self._began = work, time.monotonic()
        self.thread = threading.Thread(target=self._run, name=f"polyrule-studio-{self.number}", daemon=True)

    def start(self) -> Job:
        """Begin."""
        self.thread.start()
        return self

    def stop(self, keep: bool) -> None:
        """Ask the work to end; what was found so far is kept or thrown away."""
        self.stopping, self.cancelled = True, self.cancelled or not keep

    def tell(self, **event: Any) -> None:
        """Add an event."""
        if len(self.events) < MOST_EVENTS:
            self.events.append({"job": self.number, "elapsed": round(time.monotonic() - self._began, 2), **event})

    def _run(self) -> None:
        if self.waits and sys.platform == "linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)  # of this thread and those it starts
        try:
            result = self._work(self)
            outcome: dict[str, Any] = {"cancelled": True} if result is None else {"result": result}
        except PolyruleError as error:
            outcome = {"error": str(error)}
        except MemoryError:
            outcome = {"error": "There is not enough memory for this."}
        except Exception:
            logger.exception("a job of the studio failed")
            outcome = {"error": "Something went wrong inside; the terminal shows where."}
        self.events.append({"job": self.number, "finished": True, **outcome})
        self.finished = True
