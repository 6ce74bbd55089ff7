import numpy as np
import pandas as pd
import pytest

from fairalm._validation import Groups
from fairalm.datasets import read_table
from fairalm.runs.metrics import data_entry


def test_the_fingerprint_is_of_the_content(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 2, 3], "s": ["x", "y", None], "label": [0, 1, 1]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    groups = Groups(np.array([0, 1, -1]), ("F", "M"))
    one, two = (data_entry("t", read_table(tmp_path / name), [0, 1, 1], groups) for name in ("t.csv", "t.parquet"))
    assert one == two
    assert one["rows"] == 3
    assert one["groups"] == {"F": {"0": 1, "1": 0}, "M": {"0": 0, "1": 1}}
    other = data_entry("t", frame.assign(a=[1, 2, 4]), [0, 1, 1], groups)
    assert other["fingerprint"] != one["fingerprint"]
