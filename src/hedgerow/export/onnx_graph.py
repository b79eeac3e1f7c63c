"""A released model as an ONNX graph of standard operators.

Codes and votes are whole numbers from the cells to the label, so every runtime that keeps to the standard gives the same label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError, imported
from hedgerow.export.form import Link, Mean, OutcomeLog, OutcomeRange, ScoringForm, Softmax
from hedgerow.export.readings import (
    ASCII_SPACES,
    DECIMAL,
    NO_BREAK_SPACES,
    SPACES,
    NumberReading,
    ValueReading,
    exact_texts,
    spellings,
)


class GraphWriter:
    """A graph that is being written; ``taken`` are the names of its inputs."""

    def __init__(self, onnx: Any, taken: Sequence[str]) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.onnx = onnx
        self._taken = set(taken)
        self._prefix = "hedgerow:"
        while any(name.startswith(self._prefix) for name in taken):
            self._prefix += ":"

    def node(
        self, kind: str, *inputs: str, name: str | None = None, domain: str = "", more: int = 0, **attributes: Any
    ) -> str:
        """Add a node with so many ``more`` outputs and return its first; underscores follow a ``name`` that an input has."""
        output = name or self._name()
        while name is not None and output in self._taken:
            output += "_"
        self._taken.add(output)
        others = [f"{output}:{place}" for place in range(more)]
        made = self.onnx.helper.make_node(kind, list(inputs), [output, *others], domain=domain, **attributes)
        self.nodes.append(made)
        return output

    def matches(self, texts: str, pattern: str) -> str:
        return self.node("Transpose", self.node("NonZero", self.node("RegexFullMatch", texts, pattern=pattern)))

    def cast(self, values: str, kind: str) -> str:
        return self.node("Cast", values, to=getattr(self.onnx.TensorProto, kind))

    def constant(self, values: npt.NDArray[Any]) -> str:
        """Return an array of numbers, whole numbers in 64 bits unless they are given in 32."""
        if values.dtype.kind in "iu" and values.dtype != np.int32:
            values = values.astype(np.int64)
        name = self._name()
        self.tensors.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float64))

    def labels(self, values: npt.NDArray[Any]) -> str:
        if values.dtype.kind != "O":
            return self.constant(values)
        name = self._name()
        texts = [text.encode() for text in values.tolist()]
        self.tensors.append(self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, [len(texts)], texts))
        return name

    def _name(self) -> str:
        return f"{self._prefix}{len(self.nodes) + len(self.tensors)}"


AT_ONCE = 1000  # alternatives in a regular expression, so that no runtime's limit of their size is met
OPSET, ML_OPSET, IR_VERSION = 20, 3, 9  # regular expressions came with operator set 20
MOST_BYTES = 1 << 30  # of all tables; the format itself ends at 2 GiB


def number_codes(writer: GraphWriter, reading: NumberReading) -> str:
    edges = writer.constant(np.array([reading.edges], dtype=np.float64).reshape(1, -1))
    above = writer.cast(writer.node("GreaterOrEqual", reading.name, edges), "INT64")
    codes = writer.node("ReduceSum", above, writer.constant(np.array([1])), keepdims=1)
    missing = writer.node("IsNaN", reading.name)
    for marker in reading.markers:
        missing = writer.node("Or", missing, writer.node("Equal", reading.name, writer.number(marker)))
    return writer.node("Where", missing, writer.constant(np.array(reading.missing)), codes)


def value_codes(writer: GraphWriter, reading: ValueReading) -> str:
    cells = writer.node("Reshape", reading.name, writer.constant(np.array([-1])))
    texts = exact_texts(reading)
    known = writer.node(
        "LabelEncoder",
        cells,
        domain="ai.onnx.ml",
        keys_strings=[text.encode() for text in texts],
        values_int64s=list(texts.values()),
        default_int64=-1,
    )
    unknown = writer.node("Less", known, writer.constant(np.array(0)))
    places = writer.node("Reshape", writer.node("NonZero", unknown), writer.constant(np.array([-1])))
    codes = _spelled(writer, reading, writer.node("Gather", cells, places))
    column = writer.constant(np.array([-1, 1]))
    codes = writer.node("ScatterND", known, writer.node("Reshape", places, column), codes)
    return writer.node("Reshape", codes, column)


def _spelled(writer: GraphWriter, reading: ValueReading, cells: str) -> str:
    code, spelled = None, list(spellings(reading))  # the code and 1, or 0
    # One pattern for the spellings of all codes of which a bit, after 1 is added, is set: a few patterns for many values.
    for bit in range((reading.undeclared + 1).bit_length()):
        own = [one for one, code_of_one in spelled if (code_of_one + 1) >> bit & 1]
        for start in range(0, len(own), AT_ONCE):
            pattern = f"{SPACES}(?:{'|'.join(own[start : start + AT_ONCE])}){SPACES}"
            matches = writer.node("RegexFullMatch", cells, pattern=pattern)
            value = writer.node("Where", matches, writer.constant(np.array(1 << bit)), writer.constant(np.array(0)))
            code = value if code is None else writer.node("Add", code, value)
    assert code is not None, "missing cells have spellings"
    if reading.numbers:
        code = writer.node("Max", code, _decimals(writer, reading, cells))
    minus_one = writer.node("Sub", code, writer.constant(np.array(1)))
    none = writer.node("Less", minus_one, writer.constant(np.array(0)))
    return writer.node("Where", none, writer.constant(np.array(reading.undeclared)), minus_one)


def _decimals(writer: GraphWriter, reading: ValueReading, cells: str) -> str:
    places = writer.matches(cells, f"{SPACES}(?:{DECIMAL}){SPACES}")
    parts = writer.node("GatherND", cells, places)
    for space in NO_BREAK_SPACES:  # a cast to numbers does not skip these; one part of each text is the number
        parts = writer.node("StringSplit", parts, more=1, delimiter=space)
    number = writer.matches(parts, f"{ASCII_SPACES}(?:{DECIMAL}){ASCII_SPACES}")
    numbers = writer.cast(writer.node("GatherND", parts, number), "DOUBLE")
    one_each = writer.node("Reshape", numbers, writer.constant(np.array([-1, 1])))
    keys = writer.constant(np.array([[key for key, _ in reading.numbers]]))
    equal = writer.cast(writer.node("Equal", one_each, keys), "INT64")
    codes = writer.constant(np.array([[code + 1] for _, code in reading.numbers]))
    known = writer.node("Reshape", writer.node("MatMul", equal, codes), writer.constant(np.array([-1])))
    zero = writer.onnx.numpy_helper.from_array(np.zeros(1, dtype=np.int64))
    none = writer.node("ConstantOfShape", writer.node("Shape", cells), value=zero)
    return writer.node("ScatterND", none, places, known)


def onnx_model(form: ScoringForm, metadata: Mapping[str, str], description: str) -> Any:
    onnx = imported("onnx", "an ONNX graph needs the package onnx", "onnx")
    form = form.merged()
    size = 8 * (form.branch.size + form.votes.size + 2 * form.test.size)
    if size > MOST_BYTES:
        raise ConfigurationError(
            f"the model's tables take {size} bytes in ONNX, and a file holds {MOST_BYTES} of them; fit fewer or smaller trees."
        )
    helper, kinds = onnx.helper, onnx.TensorProto
    writer = GraphWriter(onnx, [reading.name for reading in form.readings])
    columns, inputs = [], []
    for reading in form.readings:
        if isinstance(reading, NumberReading):
            column, kind, about = number_codes(writer, reading), kinds.DOUBLE, "a number; NaN is missing"
            if reading.unit is not None:
                about = f"whole {reading.unit}s since 1970; NaN is missing"
        else:
            column, kind, about = value_codes(writer, reading), kinds.STRING, "text; '' is missing"
        columns.append(column)
        inputs.append(helper.make_tensor_value_info(reading.name, kind, ["records", 1], doc_string=about))
    sums = _sums(writer, form, writer.node("Concat", *columns, axis=1))
    if isinstance(form.link, OutcomeLog | OutcomeRange):
        shown: list[tuple[Any, ...]] = [(_prediction(writer, form.link, sums), kinds.DOUBLE, ["records"])]
    else:
        labels = np.array(form.labels, dtype=object if isinstance(form.labels[0], str) else None)
        best = writer.node("ArgMax", sums, axis=1, keepdims=0)  # among equals the first
        kind = {"b": kinds.BOOL, "i": kinds.INT64, "f": kinds.DOUBLE}.get(labels.dtype.kind, kinds.STRING)
        shown = [
            (writer.node("Gather", writer.labels(labels), best, name="label"), kind, ["records"]),
            (_probabilities(writer, form.link, sums), kinds.DOUBLE, ["records", len(form.classes)]),
        ]
    outputs = [helper.make_tensor_value_info(*output) for output in shown]
    graph = helper.make_graph(writer.nodes, "hedgerow", inputs, outputs, writer.tensors)
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="hedgerow",
        doc_string=description,
    )
    helper.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model, full_check=True)
    return model


def _sums(writer: GraphWriter, form: ScoringForm, codes: str) -> str:
    """Return the sums of votes of the leaves that records reach: all trees are walked side by side, one level after another."""
    records = writer.node("Shape", codes, start=0, end=1)
    shape = writer.node("Concat", records, writer.constant(np.array([len(form.roots)])), axis=0)
    place = writer.node("Expand", writer.constant(form.roots[None]), shape)
    if depth := form.depth:
        leaf = form.test < 0  # a leaf has a test with one branch, which leads back to it
        test, width = np.where(leaf, len(form.feature), form.test), form.branch.shape[1]
        feature = writer.constant(np.append(form.feature, 0)[test])
        start = writer.constant(test * width)
        branches = writer.constant(np.append(form.branch.reshape(-1), np.zeros(width)).astype(np.int32))
        follows = writer.constant(np.where(leaf, np.arange(len(test)), form.first_child))
        for _ in range(depth):
            code = writer.node("GatherElements", codes, writer.node("Gather", feature, place), axis=1)
            taken = writer.node("Gather", branches, writer.node("Add", writer.node("Gather", start, place), code))
            place = writer.node("Add", writer.node("Gather", follows, place), writer.cast(taken, "INT64"))
    votes = writer.node("Gather", writer.constant(form.votes), place)
    return writer.node("ReduceSum", votes, writer.constant(np.array([1])), keepdims=0)


def _prediction(writer: GraphWriter, link: OutcomeLog | OutcomeRange, sums: str) -> str:
    votes = writer.cast(writer.node("Squeeze", sums, writer.constant(np.array([1]))), "DOUBLE")
    if isinstance(link, OutcomeLog):
        log = writer.node("Div", _within(writer, votes, link.first, link.last), writer.number(link.steps))
        value = writer.node("Mul", writer.number(link.base), writer.node("Exp", log))
        return _within(writer, value, link.low, link.high, name="prediction")
    within = _within(writer, votes, 0, link.steps)
    share = writer.node("Div", within, writer.number(link.steps))
    below = writer.node("Mul", writer.number(link.low), writer.node("Sub", writer.number(1), share))
    return writer.node("Add", below, writer.node("Mul", writer.number(link.high), share), name="prediction")


def _within(writer: GraphWriter, values: str, low: float, high: float, name: str | None = None) -> str:
    return writer.node("Min", writer.node("Max", values, writer.number(low)), writer.number(high), name=name)


def _probabilities(writer: GraphWriter, link: Link, sums: str) -> str:
    votes = writer.cast(sums, "DOUBLE")
    if isinstance(link, Mean):
        return writer.node("Div", votes, writer.number(link.total), name="probabilities")
    assert isinstance(link, Softmax)
    classes = writer.constant(np.array([1]))
    behind = writer.node("Sub", votes, writer.node("ReduceMax", votes, classes, keepdims=1))
    odds = writer.node("Exp", writer.node("Div", behind, writer.number(link.steps)))
    last: dict[str, Any] = {} if link.cap is not None else {"name": "probabilities"}
    shares = writer.node("Div", odds, writer.node("ReduceSum", odds, classes, keepdims=1), **last)
    if link.cap is None:
        return shares
    others = writer.node("Div", writer.node("Sub", writer.number(1), shares), writer.number(link.cap))
    odds = writer.node("Mul", shares, writer.node("Max", writer.number(1), others))
    return writer.node("Div", odds, writer.node("ReduceSum", odds, classes, keepdims=1), name="probabilities")
