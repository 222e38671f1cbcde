"""The report as plain values: a pure function of models and data that the page, tests and other programs can read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polyrule.conditions import flatten
from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.data.groups import column_values
from polyrule.errors import OptionError
from polyrule.evaluation import groups
from polyrule.evaluation.importance import Importance, Stability, importances, stability
from polyrule.evaluation.scores import MEASURES
from polyrule.model.columns import used_features
from polyrule.report import comparison, examples, model_summary, scoring
from polyrule.report.counts import count_predictions, counts
from polyrule.report.inputs import DataPart, Inputs, learned_from_others
from polyrule.report.page import MOST_TEXT, embed, without_text
from polyrule.utils.names import visible
from polyrule.utils.version import __version__


def _importances(model: Any, inputs: Inputs, slots: Mapping[int, int], resamples: int = 0) -> dict[str, Any] | None:
    """Importances on the last part; None without data.

    Rules and features as [number or slot, drop, low, high, share that comes back or null]; resamples and agreement
    where the model was learned again.
    """
    if not inputs.parts:
        if resamples:
            raise OptionError("resamples needs data: the training data from which the models are learned again")
        return None
    part = inputs.parts[-1]
    importance = importances(model, part.table, part.truth)
    again = _again(model, inputs, resamples) if resamples else None
    shares = {} if again is None else again.features
    entry: dict[str, Any] = {
        "part": len(inputs.parts) - 1,
        "examples": importance.examples,
        "rules": [
            [item.index, *_figures(item), None if again is None else round(again.rules[item.index], 4)]
            for item in importance.rules
        ],
        "features": [
            [slots[item.index], *_figures(item), shares.get(item.name) if again is not None else None]
            for item in importance.features
        ],
    }
    if again is not None:
        entry |= {"resamples": again.resamples, "agreement": round(again.agreement, 4)}
    return entry


def _again(model: Any, inputs: Inputs, resamples: int) -> Stability:
    part = inputs.parts[0]
    if part.unseen:
        raise OptionError("resamples needs the training data (data=), which these examples are not")
    return stability(model, replace(part.data, weights=None), resamples)


def _figures(item: Importance) -> list[float]:
    return [round(value, 5) for value in (item.drop, item.low, item.high)]


def _groups(model: Any, part: DataPart | None, column: str) -> dict[str, Any]:
    if part is None:
        raise OptionError("by_group needs data: the examples to be grouped")
    values = column_values(part.raw if part.raw is not None else part.table, column)
    return {**groups.by_group(model, part.data, values).as_dict(), "column": column}


FORMAT = 1
#: a page stays below this many bytes; examples are sampled until it does
MOST_BYTES = 4_500_000
#: names of features that no rule tests, as many as a page lists
MOST_UNTESTED = 2000


def summarise(
    inputs: Inputs,
    title: str | None = None,
    most_bytes: int = MOST_BYTES,
    resamples: int = 0,
    by_group: str | None = None,
) -> dict[str, Any]:
    """Collect everything a report shows as plain JSON values; the options are those of `polyrule.report.build`."""
    tested = used_features(rule for model in inputs.models for rule in model.rules)
    used = examples.page_features(tested, inputs.features)
    slots = {column: slot for slot, column in enumerate(used)}
    first = inputs.parts[0] if inputs.parts else None
    runs = [[count_predictions(model, part.covers) for part in inputs.parts] for model in inputs.models]
    last = inputs.parts[-1] if inputs.parts else None
    simple = [scoring.simple_scores(part, inputs.parts[0]) for part in inputs.parts]
    resampled = None if last is None else scoring.resample(last, [results[-1].labels for results in runs])
    summary: dict[str, Any] = {
        "format": FORMAT,
        "title": title or _title(inputs),
        "generator": f"polyrule {__version__}",
        "labels": list(inputs.label_names),
        "features": [
            examples.feature_entry(
                max((model.features[column] for model in inputs.models), key=lambda feature: feature.flag),
                column,
                None if first is None else first.table,
            )
            for column in used
        ],
        "feature_total": len(inputs.features),
        "untested": [feature.name for j, feature in enumerate(inputs.features) if j not in slots][:MOST_UNTESTED],
        "parts": [_part(part) for part in inputs.parts],
        "findings": _findings(inputs),
        "models": [
            _model(name, model, results, inputs, simple, slots)
            for name, model, results in zip(inputs.names, inputs.models, runs, strict=True)
        ],
        "comparison": comparison.summarise(
            [model_summary.signed_rules(model) for model in inputs.models],
            None if last is None else [results[-1].labels for results in runs],
            None if last is None else last.truth,
        ),
    }
    for at, (entry, model) in enumerate(zip(summary["models"], inputs.models, strict=True)):
        if last is not None and resampled is not None:
            entry["parts"][-1]["interval"] = scoring.interval_entries(resampled, MEASURES, at)
        entry["importance"] = _importances(model, inputs, slots, resamples)
        if by_group is not None:
            entry["groups"] = _groups(model, last, by_group)
    if resampled is not None and len(inputs.models) > 1:
        summary["level"] = scoring.level_with_best([m["parts"][-1]["scores"] for m in summary["models"]], resampled)
    n_bytes = len(embed(without_text(summary))) + sum(min(len(m["text"]), MOST_TEXT) for m in summary["models"])
    summary["examples"] = examples.summarise(inputs.parts, used, max(0, most_bytes - n_bytes))
    summary["notes"] = _notes(inputs, summary, len(inputs.features) - len(tested))
    visible_summary: dict[str, Any] = _visible(summary)
    return visible_summary


def _visible(value: Any) -> Any:
    """Return the value with its texts, keys included, made visible; numbers stay."""
    if isinstance(value, str):
        return visible(value, keep="\n")
    if isinstance(value, dict):
        return {_visible(key): _visible(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and any(isinstance(inner, (str, dict, list, tuple)) for inner in value):
        return [_visible(inner) for inner in value]
    return value


def _findings(inputs: Inputs) -> list[str]:
    """Messages about the data, such as test examples that were trained on."""
    if not inputs.parts:
        return []
    first, *rest = (part.data for part in inputs.parts)
    return [finding.message for finding in first.describe(*rest).findings]


def _title(inputs: Inputs) -> str:
    name = inputs.parts[0].data.name if inputs.parts else ""
    what = "Rules" if len(inputs.models) == 1 else f"{len(inputs.models)} models"
    return (
        f"{what} for {name}"
        if name and name not in ("data", "test")
        else f"{what} for {len(inputs.label_names)} labels"
    )


def _part(part: DataPart) -> dict[str, Any]:
    present, n_known = counts(part.covers.present), int(counts(part.covers.present | part.covers.absent).sum())
    missing = np.isnan(part.table.values.data if part.table.is_sparse else part.table.values)
    return part.entry() | {
        "cardinality": round(int(present.sum()) / len(part), 4),
        "density": round(int(present.sum()) / max(1, n_known), 4),
        "label_sets": len(np.unique(part.truth, axis=0)),
        "missing": int(missing.sum()),
        "present": present.tolist(),
        "unknown": part.truth.size - n_known,
    }


def _model(
    name: str,
    model: Any,
    results: Sequence[Any],
    inputs: Inputs,
    simple: Sequence[scoring.SIMPLE],
    slots: dict[int, int],
) -> dict[str, Any]:
    entry = {"name": name} | model_summary.summarise(_roundable(model, inputs.parts), results, slots)
    parts = [
        scoring.summarise(part, result, simple_of_part) | model_summary.curve_entry(model, result)
        for part, result, simple_of_part in zip(inputs.parts, results, simple, strict=True)
    ]
    entry |= {"info": _info(model.info), "parts": parts}
    entry["warnings"] = [
        *model_summary.warnings(model, results, inputs.parts),
        *_fit_warnings(model, inputs),
        *_score_warnings(parts, inputs),
    ]
    return entry


def _roundable(model: Any, parts: Sequence[DataPart]) -> Any:
    """Return the model with thresholds that, rounded, still divide all examples of the report as they do."""
    for part in parts:
        has_ranges = any(getattr(c, "between", None) is not None for rule in model.rules for c in flatten(rule.body))
        if has_ranges or not part.unseen:  # without training data the range of a threshold is unknown
            model = with_threshold_intervals(model, part.table, also=has_ranges)
    return model


def _info(info: dict[str, Any]) -> dict[str, Any]:
    """The model's information as JSON values."""
    plain: dict[str, Any] = json.loads(json.dumps(info, default=str))
    return plain


def _fit_warnings(model: Any, inputs: Inputs) -> list[str]:
    reasons = {
        "time_limit": "Learning ended at its time limit; the model may be incomplete.",
        "interrupted": "Learning was interrupted; the model holds the rules found until then.",
        "max_rules": "Learning ended at the largest number of rules allowed.",
        "callback": "Learning was ended by a callback; the model may be incomplete.",
    }
    messages = [reasons[model.info["stopped"]]] if model.info.get("stopped") in reasons else []
    part = inputs.parts[0] if inputs.parts else None
    if part is not None and not part.unseen and learned_from_others(model, part):
        # Said only where someone calls these the training data, or where other models were learned from them.
        messages.append(
            f"The model was learned from {model.info.get('examples', 'other')} examples that are not those of "
            f"{part.data.name} ({len(part)}): figures under “{part.title}” are not those of its training run."
        )
    return messages


def _score_warnings(parts: Sequence[dict[str, Any]], inputs: Inputs) -> list[str]:
    messages = []
    for entry, part in zip(parts, inputs.parts, strict=True):
        if entry["warning"]:
            messages.append(f"{part.title}: {entry['warning']}.")
    if len(parts) == 2:
        train, test = (entry["scores"]["micro_f1"] for entry in parts)
        if train - test > 0.2:
            messages.append(
                f"Micro F1 falls from {train:.2f} on the training data to {test:.2f} on the test data: "
                "some rules fit the training examples only."
            )
    return messages


def _notes(inputs: Inputs, summary: dict[str, Any], untested: int) -> list[str]:
    notes = []
    part_of_example = summary["examples"]["part"]
    for index, part in enumerate(inputs.parts):
        count = part_of_example.count(index)
        summary["parts"][index]["shown"] = count
        if count < len(part):
            notes.append(
                f"This page carries {count:,} of the {len(part):,} examples of the {part.title.lower()}, evenly "
                "spread, to keep the file small. Scores and counts use all of them; lists of examples show those here."
            )
        if part.weighted:
            notes.append(f"{part.title}: example weights are not used in this page; every example counts once.")
    if untested:
        notes.append(f"{untested:,} of {summary['feature_total']:,} features appear in no rule and are left out.")
    return notes
