import json

import numpy as np
import pytest

from fairalm import InputError
from fairalm.files import check_new_folder, new_folder, read_json, to_json, write_atomic, write_json


def test_json_has_no_nan(tmp_path):
    write_json(tmp_path / "x.json", {"a": np.float64(np.nan), "b": [np.int64(2), float("inf")], 3: (True, None)})
    assert read_json(tmp_path / "x.json") == {"a": None, "b": [2, None], "3": [True, None]}
    with pytest.raises(InputError, match="cannot be written as JSON"):
        to_json(object())
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        read_json(tmp_path / "x.json")
    with pytest.raises(InputError, match="There is no file"):
        read_json(tmp_path / "y.json")


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, 1)
    with pytest.raises(InputError):
        write_json(path, {"bad": object()})
    with pytest.raises(OSError, match=r"x\.json"):
        write_atomic(path / "below", b"a file is no folder")
    assert json.loads(path.read_text()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def interrupted(path):
    path.write_text("x")
    raise KeyboardInterrupt


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "runs" / "deep" / "one"
    with pytest.raises(KeyboardInterrupt), new_folder(target) as folder:
        interrupted(folder / "half")
    assert list(tmp_path.iterdir()) == []
    with new_folder(target) as folder:
        (folder / "metrics.json").write_text("1")
        assert not target.exists()
    assert (target / "metrics.json").read_text() == "1"
    with pytest.raises(InputError, match="exists"), new_folder(target):
        pass
    with pytest.raises(ZeroDivisionError), new_folder(target, overwrite=True) as folder:
        1 / 0  # noqa: B018
    assert (target / "metrics.json").read_text() == "1"
    with new_folder(target, overwrite=True) as folder:
        (folder / "metrics.json").write_text("2")
    assert (target / "metrics.json").read_text() == "2"
    assert [p.name for p in target.parent.iterdir()] == ["one"]


def test_only_runs_are_overwritten(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "wedding.jpg").write_text("x")
    with pytest.raises(InputError, match="not a run"), new_folder(tmp_path / "photos", overwrite=True):
        pass
    assert (tmp_path / "photos" / "wedding.jpg").exists()


def test_what_cannot_be_written_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError, match="file/deep/run"):
        check_new_folder(tmp_path / "file" / "deep" / "run")
    check_new_folder(tmp_path / "deep" / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
