import warnings

import numpy as np
import pandas as pd
import pytest

from fairalm.datasets.images import read_images
from fairalm.exceptions import FairALMWarning, InputError

ROLES = {"image_column": "image", "target": "over30", "protected": "gender", "size": 8}


def reds(data):
    return np.asarray(data.pixels[:, 0, 0, 0]).tolist()


def test_images_labels_groups_and_parts_belong_together(faces):
    data = read_images(faces, **ROLES, split_column="part")
    assert data.name == "faces"
    assert data.pixels.shape == (12, 8, 8, 3)
    assert reds(data) == list(range(12))
    assert data.positive == "yes"
    assert data.y.tolist() == [1, 0] * 6
    assert data.groups.tolist() == [*"MFFMFFMFFMFF"]
    assert data.unreadable == ()
    assert list(data.frame.columns) == ["file", "over30", "gender", "split"]
    assert reds(data.part("valid")) == [4, 5, 6, 7]
    assert read_images(faces, **ROLES, positive="no").y.tolist() == [0, 1] * 6


def test_paths_are_relative_to_the_table_or_absolute(faces, monkeypatch, tmp_path):
    monkeypatch.chdir(faces.parent)
    assert reds(read_images("faces.csv", **ROLES)) == list(range(12))
    table = pd.read_csv(faces)
    table["image"] = [str(faces.parent / file) for file in table["image"]]
    (tmp_path / "elsewhere").mkdir()
    table.to_csv(tmp_path / "elsewhere" / "faces.csv", index=False)
    assert reds(read_images(tmp_path / "elsewhere" / "faces.csv", **ROLES)) == list(range(12))


def test_bad_images_are_left_out_listed_and_told_of(faces):
    folder = faces.parent / "images"
    (folder / "2.png").unlink()
    whole = (folder / "5.png").read_bytes()
    (folder / "5.png").write_bytes(whole[: len(whole) // 2])
    (folder / "7.png").write_text("no image")
    with pytest.warns(FairALMWarning) as caught:
        data = read_images(faces, **ROLES)
    assert reds(data) == [0, 1, 3, 4, 6, 8, 9, 10, 11]
    assert data.y.tolist() == [1, 0, 0, 1, 1, 1, 0, 1, 0]
    assert data.frame.index.tolist() == list(range(9))
    assert [entry.partition(": ")[0] for entry in data.unreadable] == [str(folder / f"{i}.png") for i in (2, 5, 7)]
    assert [str(warning.message) for warning in caught] == [
        f"3 of 12 images could not be read and are left out: the first is {folder / '2.png'}: there is no such file;"
        " `unreadable` lists all."
    ]
    assert caught[0].filename == __file__
    with pytest.warns(FairALMWarning, match="3 of 12"):  # also when they come from the cache
        assert read_images(faces, **ROLES).unreadable == data.unreadable


def test_a_table_of_bad_images_is_an_error(faces):
    for image in (faces.parent / "images").iterdir():
        image.unlink()
    with warnings.catch_warnings(), pytest.raises(InputError, match=r"None of the 12 .*0\.png: there is no such file"):
        read_images(faces, **ROLES)


@pytest.mark.parametrize(
    ("change", "roles", "message"),
    [
        (lambda t: t, {"target": "age"}, "no column 'age'"),
        (lambda t: t, {"image_column": "imag"}, "no column 'imag', did you mean 'image'"),
        (lambda t: t, {"split_column": "parts"}, "no column 'parts', did you mean 'part'"),
        (lambda t: t, {"protected": "sex"}, "no column 'sex'"),
        (lambda t: t, {"protected": ()}, "No protected column"),
        (lambda t: t, {"target": "image"}, "'image' is named twice"),
        (lambda t: t, {"protected": ["gender", "over30"]}, "'over30' is named twice"),
        (lambda t: t, {"size": 4}, "size must be a whole number from 8 to 1024; got 4"),
        (lambda t: t, {"size": "64"}, "size must be a whole number"),
        (lambda t: t, {"positive": "maybe"}, "'maybe' is not a label of 'over30'"),
        (lambda t: t[:0], {}, "0 rows"),
        (lambda t: t.assign(over30=[*"abcdefabcdef"]), {}, "'over30' has 6 labels"),
        (lambda t: t.assign(over30="yes"), {}, "has 1 label"),
        (lambda t: t.assign(over30=[None, *t["over30"][1:]]), {}, "'over30': y has 1 missing"),
        (lambda t: t.assign(image=["", *t["image"][1:]]), {}, "Row 1 of .* names no image"),
        (lambda t: pd.concat([t, t[3:4]]), {}, r"names images/3\.png more than once"),
        (lambda t: t.replace({"image": {"images/3.png": "images/../images/2.png"}}), {}, "more than once"),
        (
            lambda t: t.replace({"image": {"images/3.png": "../../3.png"}}),
            {},
            r"names \.\./\.\./3\.png, which is outside",
        ),
        (lambda t: t.assign(file=1), {}, "has a column 'file' besides"),
        (lambda t: t.assign(part="holdout"), {"split_column": "part"}, "a part 'holdout' in 'part'"),
        (lambda t: t.assign(part=None), {"split_column": "part"}, "a part 'nan' in 'part'"),
    ],
)
def test_one_sentence_says_what_is_wrong_before_any_work(faces, cache, change, roles, message):
    change(pd.read_csv(faces)).to_csv(faces, index=False)
    with pytest.raises(InputError, match=message) as caught:
        read_images(faces, **{**ROLES, **roles})
    assert "\n" not in str(caught.value)
    assert not cache.exists()


def test_what_is_no_table(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="is empty"):
        read_images(tmp_path / "empty.csv", **ROLES)
    with pytest.raises(InputError, match="no file"):
        read_images(tmp_path / "none.csv", **ROLES)
