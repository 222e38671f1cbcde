"""Functions of higher rooms that methods of lower rooms call.

A model's own methods, such as ``model.verify(data)``, promise work that a room above implements. The table is the only
place where such a module is named; `tests/test_layers.py` reads it.
"""

from __future__ import annotations

from typing import Any

from polyrule.utils.lazy import import_late

LATE = {
    "by_group": "polyrule.evaluation.groups:by_group",
    "export": "polyrule.export:export",
    "plot": "polyrule.report.plots:plot_scorecard",
    "refit": "polyrule.ensemble.refit:refit",
    "report": "polyrule.report:build",
    "studio": "polyrule.studio:open_studio",
    "tune_decision": "polyrule.ensemble.refit:tune_decision",
    "verify": "polyrule.verification:verify",
    "watch": "polyrule.watch:watch",
}


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Import the function that `LATE` names, then call it.

    >>> call("export", None, "cobol")
    Traceback (most recent call last):
    ...
    polyrule.errors.OptionError: no export to 'cobol'; there is ...
    """
    module, _, function = LATE[name].partition(":")
    return getattr(import_late(module), function)(*args, **kwargs)
