"""What arrays are called in signatures, everywhere in the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
#: The same type as `Floats`, where rows are examples.
Matrix = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Ints8 = npt.NDArray[np.int8]
Bools = npt.NDArray[np.bool_]
#: Labels: 0 is absent, 1 is present.
Bytes = npt.NDArray[np.uint8]
#: Numbers of bins.
Codes = npt.NDArray[np.uint16]
#: 64 bits each: of sets of examples, or hashes.
Words = npt.NDArray[np.uint64]
