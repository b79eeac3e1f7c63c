"""Nodes and constants of an ONNX graph under names that no feature has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["GraphWriter"]


class GraphWriter:
    """A graph that is being written.

    Parameters
    ----------
    onnx : module
        The package.
    taken : sequence of str
        Names of the inputs.
    """

    def __init__(self, onnx: Any, taken: Sequence[str]) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self._onnx = onnx
        self._taken = set(taken)
        self._prefix = "hedgerow:"
        while any(name.startswith(self._prefix) for name in taken):
            self._prefix += ":"

    def node(self, kind: str, *inputs: str, name: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add a node and return its output; under ``name``, with underscores behind it where an input has that name."""
        output = self._name() if name is None else self._free(name)
        made = self._onnx.helper.make_node(kind, list(inputs), [output], domain=domain, **attributes)
        self.nodes.append(made)
        return output

    def cast(self, values: str, kind: str) -> str:
        """Return values as another type."""
        return self.node("Cast", values, to=getattr(self._onnx.TensorProto, kind))

    def constant(self, values: npt.NDArray[Any]) -> str:
        """Return an array of numbers, whole numbers in 64 bits unless they are given in 32."""
        if values.dtype.kind in "iu" and values.dtype != np.int32:
            values = values.astype(np.int64)
        name = self._name()
        self.tensors.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def number(self, value: float) -> str:
        """Return one float64."""
        return self.constant(np.array(value, dtype=np.float64))

    def zero(self) -> Any:
        """Return the whole number 0 as an attribute."""
        return self._onnx.numpy_helper.from_array(np.zeros(1, dtype=np.int64))

    def labels(self, values: npt.NDArray[Any]) -> str:
        """Return an array of numbers, truth values or text."""
        if values.dtype.kind != "O":
            return self.constant(values)
        name = self._name()
        texts = [text.encode() for text in values.tolist()]
        self.tensors.append(self._onnx.helper.make_tensor(name, self._onnx.TensorProto.STRING, [len(texts)], texts))
        return name

    def _name(self) -> str:
        return f"{self._prefix}{len(self.nodes) + len(self.tensors)}"

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name
