"""What happens inside the process of one run: it may fail, crash or hang without harm to the experiment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from polyrule.evaluation.experiment.one_run import execute
from polyrule.evaluation.experiment.plan import Run


def child_main(
    answer: Connection, run: Run, score_options: Mapping[str, float], python_path: tuple[str, ...], threads: int
) -> None:
    """Execute a run and send back what it measured, or in what way it failed."""
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; what becomes of runs is the parent's
    sys.path[:0] = python_path
    # MLRL's threads spin while they wait, which starves every other process of the machine
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    warnings.simplefilter("ignore")  # a foreign learner's advice has no place between an experiment's lines
    answer.send(_outcome(run, score_options, threads))
    answer.close()


def _outcome(run: Run, score_options: Mapping[str, float], threads: int) -> dict[str, Any]:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    try:
        with threadpool_limits(threads):
            return execute(run, score_options)
    except MemoryError:
        return {"status": "memory", "error": "out of memory"}
    except ImportError as error:
        return {"status": "missing", "error": f"{type(error).__name__}: {error}"}
    except BaseException as error:
        # everything: a learner that calls sys.exit is a learner that failed
        return {
            "status": "failed",
            "error": f"{type(error).__name__}: {error}".splitlines()[0][:500],
            "traceback": traceback.format_exc()[-4000:],
        }


def _end_with_parent() -> None:
    """End this process when the experiment's own process is gone: nobody would receive its answer."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    _ask_for_signal(int(parent.sentinel))

    def wait_for_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_end, daemon=True).start()


def _ask_for_signal(pipe: int) -> None:
    """Have Linux end this process when the pipe from the parent closes: a learner may never let our thread run."""
    if sys.platform != "linux":
        return
    import fcntl

    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    # the signal is SIGIO, which ends a process that has made no other arrangement
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
