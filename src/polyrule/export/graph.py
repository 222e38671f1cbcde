"""Building an ONNX graph: inputs per feature, conditions as comparisons, everything over a batch of examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from polyrule.conditions import Condition
from polyrule.conditions.predicate import AtLeast, Compare, Missing, OneOf, lower
from polyrule.data.results import MissingExtraError
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError
from polyrule.model.columns import used_features

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


class _Nodes:
    """Visitor that adds the nodes of a lowered predicate to a graph; equal tests of features are added once."""

    def __init__(self, graph: Graph, label: Callable[[int], tuple[str, str]] | None) -> None:
        self.graph, self.label = graph, label

    def compare(self, node: Compare) -> str:
        graph = self.graph
        sign = "LessOrEqual" if node.op == "<=" else "Greater"
        threshold = graph.constant(np.array(node.value, dtype=np.float64))
        return graph.once(node, lambda: graph.add(sign, graph.feature(node.column.index), threshold))

    def one_of(self, node: OneOf) -> str:
        graph = self.graph
        if node.column.source == "label":
            assert self.label is not None, "only lists test labels"
            is_set, present = self.label(node.column.index)
            return graph.add("And", is_set, present if node.codes[0] else graph.add("Not", present))
        return graph.once(node, lambda: self._equal(node.column.index, node.codes))

    def missing(self, node: Missing) -> str:
        graph, index = self.graph, node.column.index
        if graph.features[index].has_categories:
            return graph.once(node, lambda: self._equal(index, (-1,)))
        missing = graph.once(Missing(node.column, True), lambda: graph.add("IsNaN", graph.feature(index)))
        return missing if node.missing else graph.once(node, lambda: graph.add("Not", missing))

    def at_least(self, node: AtLeast) -> str:
        return self.graph.once(node, lambda: self._at_least(node))

    def _at_least(self, node: AtLeast) -> str:
        graph = self.graph
        parts = [part.accept(self) for part in node.parts]
        if node.count == 1:
            return graph.any_of(parts)
        total, *counts = [graph.add("Cast", part, to=7) for part in parts]  # 7: INT64
        for count in counts:
            total = graph.add("Add", total, count)
        return graph.add("GreaterOrEqual", total, graph.constant(np.array(node.count, dtype=np.int64)))

    def _equal(self, index: int, codes: Sequence[int]) -> str:
        """Return the column that is true for some codes; -1 is the code of a text that is no category."""
        graph = self.graph
        column = graph.codes(index)
        codes = codes or (-2,)  # a feature without categories, of which no value is known
        return graph.any_of([graph.add("Equal", column, graph.constant(np.array(one, np.int64))) for one in codes])


class Graph:
    """An ONNX graph in the making.

    Every feature that is tested becomes an input of shape (examples, 1): doubles, NaN where missing; or text for a
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
            raise ModelError("a model without features cannot be exported to ONNX: no input has the number of examples")
        self._onnx: Any = onnx
        self.features, self.label_names = features, label_names
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: dict[int, str] = {}
        self._by_key: dict[Any, str] = {}
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
        if key not in self._by_key:
            name = f"/polyrule/constant/{len(self._constants)}"
            self._constants.append(self._onnx.numpy_helper.from_array(array, name))
            self._by_key[key] = name
        return self._by_key[key]

    def condition(self, condition: Condition, label: Callable[[int], tuple[str, str]] | None = None) -> str:
        """Return the name of a column of booleans that is true for examples that satisfy a condition.

        `label` returns the columns that state if a label is set, and present.
        """
        predicate = lower(condition.predicate(), self.features)
        return predicate.accept(_Nodes(self, label))

    def once(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return the name of a column that is made at the first call with its key."""
        if key not in self._by_key:
            self._by_key[key] = make()
        return self._by_key[key]

    def any_of(self, names: Sequence[str]) -> str:
        """Return a column that is true where any of the columns is."""
        result, *rest_of_names = names
        for other in rest_of_names:
            result = self.add("Or", result, other)
        return result

    def all_of(self, names: Sequence[str]) -> str | None:
        """Return a column that is true where all columns are; None for no column, which means everywhere."""
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
        types = {"int64": self._onnx.TensorProto.INT64, "float64": self._onnx.TensorProto.DOUBLE}
        shape = ["examples", len(self.label_names)]
        self._outputs.append(self._onnx.helper.make_tensor_value_info(name, types[kind], shape))

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

    def codes(self, index: int) -> str:
        """Return the number of a feature's category, -1 for any other text."""
        key = ("codes", index)
        if key not in self._by_key:
            feature = self.features[index]
            categories = feature.categories or (_no_category(feature),)  # a table of none cannot be stored
            self._by_key[key] = self.add(
                "LabelEncoder",
                self.feature(index),
                domain="ai.onnx.ml",
                keys_strings=[category.encode("utf-8", "surrogatepass") for category in categories],
                values_int64s=list(range(len(categories))) if feature.categories else [-1],
                default_int64=-1,
            )
        return self._by_key[key]
