"""Names of array types, for annotations."""

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Integers", "Truth"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]
