"""The report as plain values: a pure function of models and data that the page, tests and other programs can read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyrule.data.fingerprint import fingerprint
from polyrule.data.names import visible
from polyrule.model.narrowing import used_features
from polyrule.report import comparison, examples, features, scoring
from polyrule.report.inputs import Inputs, Part
from polyrule.report.kinds import kind_of, signed_rules
from polyrule.report.page import MOST_TEXT, embed, without_text
from polyrule.version import __version__

FORMAT = 1
#: a page stays below this many bytes; examples are sampled until it does
MOST_BYTES = 4_500_000


def summarise(inputs: Inputs, title: str | None = None, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """Collect everything a report shows.

    Parameters
    ----------
    inputs : Inputs
    title : str, optional
        Heading of the page.
    most_bytes : int
        Room for the data of the page; examples are sampled evenly until everything fits.

    Returns
    -------
    dict
        JSON-able: format, title, generator, labels, features (those that rules test), parts, findings, models,
        comparison, examples, notes.
    """
    used = used_features(rule for model in inputs.models for rule in model.rules)
    slots = {column: slot for slot, column in enumerate(used)}
    first = inputs.parts[0] if inputs.parts else None
    runs = [kind_of(model).predictions(model, inputs.parts) for model in inputs.models]
    last = inputs.parts[-1] if inputs.parts else None
    summary: dict[str, Any] = {
        "format": FORMAT,
        "title": title or _title(inputs),
        "generator": f"polyrule {__version__}",
        "labels": list(inputs.label_names),
        "features": [
            features.summarise(inputs.features[column], column, None if first is None else first.table)
            for column in used
        ],
        "feature_total": len(inputs.features),
        "parts": [_part(part) for part in inputs.parts],
        "findings": _findings(inputs),
        "models": [
            _model(name, model, results, inputs, slots)
            for name, model, results in zip(inputs.names, inputs.models, runs, strict=True)
        ],
        "comparison": comparison.summarise(
            [signed_rules(model) for model in inputs.models],
            None if last is None else [results[-1].labels for results in runs],
            None if last is None else last.truth,
        ),
    }
    taken = len(embed(without_text(summary))) + sum(min(len(m["text"]), MOST_TEXT) for m in summary["models"])
    summary["examples"] = examples.summarise(inputs.parts, used, max(0, most_bytes - taken))
    summary["notes"] = _notes(inputs, summary)
    shown: dict[str, Any] = _visible(summary)
    return shown


def _visible(value: Any) -> Any:
    """Every text of the summary, keys included, as it may be shown; numbers are left alone."""
    if isinstance(value, str):
        return visible(value, keep="\n")
    if isinstance(value, dict):
        return {_visible(key): _visible(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and any(isinstance(inner, (str, dict, list, tuple)) for inner in value):
        return [_visible(inner) for inner in value]
    return value


def _findings(inputs: Inputs) -> list[str]:
    """What the data owner should know about the data itself, such as test examples that were trained on."""
    if not inputs.parts:
        return []
    first, *rest = (part.dataset(inputs.label_names) for part in inputs.parts)
    return [finding.message for finding in first.describe(*rest).findings]


def _title(inputs: Inputs) -> str:
    name = inputs.parts[0].name if inputs.parts else ""
    what = "Rules" if len(inputs.models) == 1 else f"{len(inputs.models)} models"
    return (
        f"{what} for {name}"
        if name and name not in ("data", "test")
        else f"{what} for {len(inputs.label_names)} labels"
    )


def _part(part: Part) -> dict[str, Any]:
    present = part.truth.sum(axis=1)
    missing = np.isnan(part.table.values.data if part.table.is_sparse else part.table.values)
    return {
        "key": part.key,
        "title": part.title,
        "name": part.name,
        "examples": len(part),
        "cardinality": round(float(present.mean()), 4),
        "density": round(float(part.truth.mean()) if part.truth.size else 0.0, 4),
        "label_sets": len(np.unique(part.truth, axis=0)),
        "missing": int(missing.sum()),
        "present": part.truth.sum(axis=0, dtype=np.int64).tolist(),
    }


def _model(name: str, model: Any, results: Sequence[Any], inputs: Inputs, slots: dict[int, int]) -> dict[str, Any]:
    kind = kind_of(model)
    parts = []
    for part, result in zip(inputs.parts, results, strict=True):
        entry = scoring.summarise(part, result.labels, inputs.parts[0], inputs.label_names)
        parts.append(entry | kind.summarise_part(model, result))
    entry = {"name": name, "info": _info(model.info), "parts": parts}
    entry |= kind.summarise(model, results, slots)
    entry["warnings"] = [
        *_fit_warnings(model, inputs),
        *_score_warnings(parts, inputs),
        *kind.warnings(model, results, inputs.parts),
    ]
    return entry


def _info(info: dict[str, Any]) -> dict[str, Any]:
    """How the model was made, as far as it is text and numbers."""
    plain: dict[str, Any] = json.loads(json.dumps(info, default=str))
    return plain


def _fit_warnings(model: Any, inputs: Inputs) -> list[str]:
    reasons = {
        "time_limit": "Learning ended at its time limit; the list may be incomplete.",
        "interrupted": "Learning was interrupted; the list holds the rules found until then.",
        "max_rules": "Learning ended at the largest number of rules allowed.",
        "callback": "Learning was ended by a callback; the list may be incomplete.",
    }
    found = [reasons[model.info["stopped"]]] if model.info.get("stopped") in reasons else []
    recorded = model.info.get("data_fingerprint")
    if recorded and inputs.parts and inputs.parts[0].key == "train":
        part = inputs.parts[0]
        if model.info.get("examples") not in (None, len(part)):
            found.append(
                f"The model was learned from {model.info['examples']} examples, but {part.name} holds {len(part)}: "
                "figures under “" + part.title + "” are not those of the training run."
            )
        elif not part.weighted and recorded not in _fingerprints(part):
            found.append(f"The model was learned from other data than {part.name}: its fingerprint differs.")
    return found


def _fingerprints(part: Part) -> set[str]:
    """Fingerprints of the data as a learner may have recorded them: with and without unit weights."""
    ones = np.ones(len(part), dtype=np.int64)
    return {fingerprint(part.table, part.truth), fingerprint(part.table, part.truth, ones)}


def _score_warnings(parts: Sequence[dict[str, Any]], inputs: Inputs) -> list[str]:
    found = []
    for entry, part in zip(parts, inputs.parts, strict=True):
        if entry["warning"]:
            found.append(f"{part.title}: {entry['warning']}.")
    if len(parts) == 2:
        train, test = (entry["scores"]["micro_f1"] for entry in parts)
        if train - test > 0.2:
            found.append(
                f"Micro F1 falls from {train:.2f} on the training data to {test:.2f} on the test data: "
                "some rules fit the training examples only."
            )
    return found


def _notes(inputs: Inputs, summary: dict[str, Any]) -> list[str]:
    notes = []
    shown = summary["examples"]["part"]
    for index, part in enumerate(inputs.parts):
        count = shown.count(index)
        summary["parts"][index]["shown"] = count
        if count < len(part):
            notes.append(
                f"This page carries {count:,} of the {len(part):,} examples of the {part.title.lower()}, evenly "
                "spread, to keep the file small. Scores and counts use all of them; lists of examples show those here."
            )
        if part.weighted:
            notes.append(f"{part.title}: example weights are not used in this page; every example counts once.")
    left_out = summary["feature_total"] - len(summary["features"])
    if left_out:
        notes.append(f"{left_out:,} of {summary['feature_total']:,} features appear in no rule and are left out.")
    return notes
