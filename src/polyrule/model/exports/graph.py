"""Building an ONNX graph: inputs per feature, conditions as comparisons, everything over a batch of examples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyrule.data.results import MissingExtraError
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError
from polyrule.model.conditions import accepted
from polyrule.model.narrowing import used_features
from polyrule.model.rule import FeatureCondition, GroupCondition, InputCondition, MissingCondition, NumericCondition

RESULTS = ("labels", "probabilities", "scores")
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
#: where the names of labels and features stand in the file's metadata
LABELS_KEY, FEATURES_KEY = "polyrule.labels", "polyrule.features"


def input_name(feature: Feature) -> str:
    """Return the name of a feature's input: its own, escaped where a file could not hold it."""
    name = feature.name
    if name.isprintable() and name and not name.startswith("/polyrule/") and name not in RESULTS:
        return name
    return f"/polyrule/input/{json.dumps(name)}"


def input_arrays(model: Any, table: Table) -> dict[str, Any]:
    """Return the columns of a table as the inputs of the model's graph."""
    used = used_features(model.rules) or [0]
    arrays: dict[str, Any] = {}
    for index in used:
        feature, column = model.features[index], table.column(index)
        if feature.has_categories:
            outside = _no_category(feature)
            texts = [outside if np.isnan(code) else feature.categories[int(code)] for code in column]
            arrays[input_name(feature)] = np.array(texts, dtype=object).reshape(-1, 1)
        else:
            arrays[input_name(feature)] = np.array(column, dtype=np.float64).reshape(-1, 1)
    return arrays


def _no_category(feature: Feature) -> str:
    """A text that is none of the categories: empty, or as many underscores as it takes."""
    text = ""
    while text in feature.categories:
        text += "_"
    return text


class Graph:
    """An ONNX graph in the making.

    Every feature that is asked for becomes an input of shape (examples, 1): doubles, NaN where missing; or text for a
    nominal feature, where every text that is no category counts as missing. A comparison with NaN is false in ONNX as
    it is here, so conditions need no care.
    """

    def __init__(self, features: Sequence[Feature], label_names: Sequence[str]) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtraError(
                "the export to ONNX needs the package onnx: pip install 'polyrule[onnx]'"
            ) from error
        if not features:
            raise ModelError("a model without features cannot be exported to ONNX: no input says how many examples")
        self._onnx: Any = onnx
        self.features, self.label_names = features, label_names
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: dict[int, str] = {}
        self._known: dict[Any, str] = {}
        self._outputs: list[Any] = []

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Append a node and return the name of its result."""
        name = f"/polyrule/{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(op, inputs, [name], domain=domain, **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Return the name of a constant tensor; equal ones are stored once."""
        array = np.asarray(value)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            name = f"/polyrule/constant/{len(self._constants)}"
            self._constants.append(self._onnx.numpy_helper.from_array(array, name))
            self._known[key] = name
        return self._known[key]

    def condition(self, condition: InputCondition) -> str:
        """Return the name of a column of booleans: where a condition holds that asks about features only."""
        if condition not in self._known:
            if isinstance(condition, GroupCondition):
                self._known[condition] = self._on_members(condition)
            else:
                coded = self.features[condition.feature].has_categories
                self._known[condition] = (self._on_codes if coded else self._on_numbers)(condition)
        return self._known[condition]

    def _on_members(self, group: GroupCondition) -> str:
        members = [self.condition(member) for member in group.members]
        if group.least == 1:
            return self.either(members)
        counts = [self.add("Cast", member, to=7) for member in members]  # 7: INT64
        held = counts[0]
        for count in counts[1:]:
            held = self.add("Add", held, count)
        return self.add("GreaterOrEqual", held, self.constant(np.array(group.least, dtype=np.int64)))

    def _on_numbers(self, condition: FeatureCondition) -> str:
        if isinstance(condition, NumericCondition):
            sign = "LessOrEqual" if condition.op == "<=" else "Greater"
            threshold = self.constant(np.array(condition.threshold, dtype=np.float64))
            return self.add(sign, self.feature(condition.feature), threshold)
        assert isinstance(condition, MissingCondition)
        missing = self.add("IsNaN", self.feature(condition.feature))
        return missing if condition.missing else self.add("Not", missing)

    def _on_codes(self, condition: FeatureCondition) -> str:
        """Return where a text is one of the categories that satisfy a condition; -1 stands for no category."""
        codes = accepted(condition, self.features[condition.feature])
        if isinstance(condition, MissingCondition):
            codes = [-1]
        column = self._codes(condition.feature)
        equal = [self.add("Equal", column, self.constant(np.array(code, dtype=np.int64))) for code in codes]
        result = self.either(equal)
        return self.add("Not", result) if condition == MissingCondition(condition.feature, False) else result

    def either(self, names: Sequence[str]) -> str:
        """Return where any of the columns is true."""
        result, *others = names
        for other in others:
            result = self.add("Or", result, other)
        return result

    def every(self, names: Sequence[str]) -> str | None:
        """Return where all of the columns are true; None for no column, which means everywhere."""
        result = None
        for name in names:
            result = name if result is None else self.add("And", result, name)
        return result

    def feature(self, index: int) -> str:
        """Return the name of a feature's input: its own name where a file can hold it."""
        if index not in self._inputs:
            self._inputs[index] = input_name(self.features[index])
        return self._inputs[index]

    def rows(self, value: Any) -> str:
        """Return a row of constants repeated for every example."""
        anchor = self.feature(min(self._inputs, default=0))
        count = self.add("Slice", self.add("Shape", anchor), *(self.constant(np.array([n])) for n in (0, 1)))
        row = np.asarray(value).reshape(1, -1)
        shape = self.add("Concat", count, self.constant(np.array([row.shape[1]])), axis=0)
        return self.add("Expand", self.constant(row), shape)

    def output(self, name: str, source: str, kind: str) -> None:
        """Make a tensor of shape (examples, labels) a result of the graph."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [source], [name]))
        kinds = {"int64": self._onnx.TensorProto.INT64, "float64": self._onnx.TensorProto.DOUBLE}
        shape = ["examples", len(self.label_names)]
        self._outputs.append(self._onnx.helper.make_tensor_value_info(name, kinds[kind], shape))

    def to_bytes(self, description: str) -> bytes:
        """Check the graph and return it as the bytes of a file."""
        helper, proto = self._onnx.helper, self._onnx.TensorProto
        inputs = [
            helper.make_tensor_value_info(
                name, proto.STRING if self.features[index].has_categories else proto.DOUBLE, ["examples", 1]
            )
            for index, name in sorted(self._inputs.items())
        ]
        graph = helper.make_graph(self._nodes, "polyrule", inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="polyrule")
        model.doc_string = description
        names = {name: self.features[index].name for index, name in sorted(self._inputs.items())}
        helper.set_model_props(model, {LABELS_KEY: json.dumps(list(self.label_names)), FEATURES_KEY: json.dumps(names)})
        self._onnx.checker.check_model(model)
        return bytes(model.SerializeToString())

    def _codes(self, index: int) -> str:
        """Return the number of a feature's category, -1 for any other text."""
        key = ("codes", index)
        if key not in self._known:
            feature = self.features[index]
            categories = feature.categories or (_no_category(feature),)  # a table of none cannot be stored
            self._known[key] = self.add(
                "LabelEncoder",
                self.feature(index),
                domain="ai.onnx.ml",
                keys_strings=[category.encode("utf-8", "surrogatepass") for category in categories],
                values_int64s=list(range(len(categories))) if feature.categories else [-1],
                default_int64=-1,
            )
        return self._known[key]
