import json

import numpy as np
import pytest

from fairalm import InputError
from fairalm.files import to_json, write_atomic, write_json


def test_json_has_no_nan(tmp_path):
    write_json(tmp_path / "x.json", {"a": np.float64(np.nan), "b": [np.int64(2), float("inf")], 3: (True, None)})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": None, "b": [2, None], "3": [True, None]}
    with pytest.raises(InputError, match="cannot be written as JSON"):
        to_json(object())


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, 1)
    with pytest.raises(InputError):
        write_json(path, {"bad": object()})
    with pytest.raises(OSError, match=r"x\.json"):
        write_atomic(path / "below", b"a file is no folder")
    assert json.loads(path.read_text()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]
