"""Types of arrays, for annotations."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array = Any  # a numpy array or a torch tensor: code annotated so uses only what both have
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
