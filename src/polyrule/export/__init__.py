"""Models as code that needs no polyrule: Python, SQL, JavaScript and C; or as an ONNX file.

Names from data enter the code only as quoted strings (or, in SQL, quoted identifiers) written by `quoting`, and in
comments, from which everything has been removed that could end them. Of an ensemble, all languages add the weights in
the order of the rules, in double precision, as `RuleEnsemble.scores` does, so their sums are equal to the last bit and
so are their labels. The largest expected F1 is found as `LabelSets.best_f1` does it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from polyrule.errors import OptionError
from polyrule.export.graph import input_arrays
from polyrule.model.columns import match_columns

# Language of source code -> ending of its files.
LANGUAGES = {"python": "py", "sql": "sql", "javascript": "js", "c": "c"}
OPTIONS = {"sql": ("table", "keys"), "c": ("prefix",)}


def export(model: Any, language: str, **options: Any) -> str | bytes:
    """Return source code that predicts as the model does, or for "onnx" the bytes of a file.

    Parameters
    ----------
    model : RuleList, or another kind of model that can be stored
    language : {"python", "sql", "javascript", "c", "onnx"}
    **options
        SQL takes `table` (name of the table to read, "data" by default) and `keys` (columns to pass through); C takes
        `prefix` (what all names in the code start with, "polyrule" by default).

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5),))
    >>> code = export(RuleList((rule,), (Feature("colours"),), ("red",)), "python")
    >>> namespace = {}
    >>> exec(code, namespace)
    >>> namespace["predict"]({"colours": 6})
    {'red': 1}
    """
    languages = (*LANGUAGES, "onnx")
    if language not in languages:
        raise OptionError(f"no export to {language!r}; there is {', '.join(languages)}")
    for name in options:
        if name not in OPTIONS.get(language, ()):
            raise OptionError(f"{name} is no option of the export to {language}")
    return import_module(f"{__name__}.{language}").export(model, **options)  # type: ignore[no-any-return]


def export_onnx(model: Any) -> bytes:
    """Return the bytes of an ONNX file that predicts as the model does; needs the package onnx.

    Every feature that some rule tests is an input of shape (examples, 1): doubles with NaN for missing, or text for a
    nominal feature, where every text that is no category counts as missing. Outputs are ``labels`` and
    ``probabilities``, for an ensemble ``scores``, too. `onnx_inputs` makes the inputs from a table, frame or data set.
    """
    return bytes(import_module(f"{__name__}.onnx").export(model))


def onnx_inputs(model: Any, X: Any) -> dict[str, Any]:
    """Return the inputs of an exported model for the rows of `X`: an array per feature that some rule tests.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NominalCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NominalCondition(0, 1),))
    >>> model = RuleList((rule,), (Feature("hue", "nominal", ("dark", "light")),), ("red",))
    >>> onnx_inputs(model, [["light"], [None]])
    {'hue': array([['light'], ['']], dtype=object)}
    """
    return input_arrays(*match_columns(model, X))
