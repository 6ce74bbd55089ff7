import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairalm.datasets.images import ImageDataset, coloured_digits, read_images, scenes
from fairalm.exceptions import InputError


@pytest.fixture
def data():
    frame = pd.DataFrame(
        {
            "file": list("abcdef"),
            "smile": ["no", "yes", "yes", "no", "no", "yes"],
            "sex": [0, 1, 0, 1, 0, 1],
            "age": ["old", "old", "young", "young", "old", "young"],
            "split": ["train", "train", "train", "valid", "test", "test"],
        }
    )
    pixels = np.arange(6, dtype=np.uint8).reshape(6, 1, 1, 1) * np.ones((1, 4, 4, 1), np.uint8)
    masks = pixels[..., 0] % 2
    regions = {"masks": masks, "has_mask": masks[:, 0, 0] > 0, "spurious_masks": 1 - masks}
    return ImageDataset("six", pixels, frame, "smile", "yes", ("sex",), **regions)


@pytest.mark.parametrize("index", [[4, 1, 1], np.array([5]), [1, 2, 3], [False, True, False, False, True, True]])
def test_rows_take_everything_along(data, index):
    some = data.rows(index)
    expected = np.flatnonzero(index) if isinstance(index[0], bool) else np.asarray(index)
    assert some.pixels[:, 0, 0, 0].tolist() == expected.tolist()
    assert some.frame["file"].tolist() == ["abcdef"[i] for i in expected]
    assert some.frame.index.tolist() == list(range(len(expected)))
    assert some.masks[:, 0, 0].tolist() == (expected % 2).tolist()
    assert some.has_mask.tolist() == (expected % 2 == 1).tolist()
    assert some.spurious_masks[:, 0, 0].tolist() == (1 - expected % 2).tolist()
    assert some.y.tolist() == data.y[expected].tolist()
    assert len(some) == len(expected)


def test_neighbours_are_not_copied(data, faces):
    assert data.rows([2, 3, 4]).pixels.base is not None
    assert np.shares_memory(data.rows([2, 3, 4]).pixels, data.pixels)
    assert not np.shares_memory(data.rows([2, 4]).pixels, data.pixels)
    read = read_images(faces, image_column="image", target="over30", protected="gender", split_column="part")
    assert np.shares_memory(read.part("test").pixels, read.pixels)


@pytest.mark.parametrize("index", [[], [6], [-1], [True], [[1, 2]], ["a"], [0.5]])
def test_rows_that_are_not_there(data, index):
    with pytest.raises(InputError):
        data.rows(index)


def test_parts(data):
    assert data.part("train").frame["file"].tolist() == ["a", "b", "c"]
    with pytest.raises(InputError, match="no part 'dev'; there are: 'train', 'valid', 'test'"):
        data.part("dev")
    with pytest.raises(InputError, match="does not come in parts"):
        scenes(10, size=24).part("train")


def test_retarget(data):
    assert data.y.tolist() == [0, 1, 1, 0, 0, 1]
    other = data.retarget(target="age", protected=["sex", "smile"])
    assert other.y.tolist() == [0, 0, 1, 1, 0, 1]
    assert list(other.groups.columns) == ["sex", "smile"]
    assert data.retarget(target="age", positive="old").y.tolist() == [1, 1, 0, 0, 1, 0]
    kept = data.retarget(positive="no").retarget(protected="age")
    assert kept.positive == "no"
    assert kept.groups.tolist() == data.frame["age"].tolist()
    assert other.pixels is data.pixels
    with pytest.raises(InputError, match="'sex' is named twice"):
        data.retarget(target="sex")
    with pytest.raises(InputError, match="no column 'smiles', did you mean 'smile'"):
        data.retarget(target="smiles")
    with pytest.raises(InputError, match="has 6 labels"):
        data.retarget(target="file")


def test_repr_is_short():
    assert repr(coloured_digits(10)) == (
        "ImageDataset(name='coloured-digits', target='high', positive=1, protected=('colour',))"
    )


def test_import_is_light():
    code = "import sys, fairalm.datasets.images; sys.exit(bool({'torch', 'PIL'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_reading_without_pillow_says_what_to_install(faces, cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r'pip install "fairalm\[vision\]"'):
        read_images(faces, image_column="image", target="over30", protected="gender")
    assert not cache.exists()
