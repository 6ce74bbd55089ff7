"""The published sets: facts about the real folders where they are, and small folders in the same layout."""

import json

import numpy as np
import pandas as pd
import pytest

from fairalm.datasets.images import (
    VERB_PAIRS,
    imsitu_counts,
    load_celeba,
    load_imsitu,
    load_waterbirds,
    load_xray,
    scenes,
)
from fairalm.exceptions import FairALMWarning, InputError


@pytest.fixture
def real(raw_dir):
    """A function that gives the folder above an image set, or skips."""

    def folder(name):
        if not (raw_dir / name).is_dir():
            pytest.skip(f"there is no {name} in {raw_dir}: set FAIRALM_DATA")
        return raw_dir

    return folder


def counts(data):
    table = pd.crosstab(data.groups, data.y)
    return {group: tuple(int(n) for n in row) for group, row in table.iterrows()}


def test_real_celeba(real):
    data = load_celeba(real("celeba"), limit=120, size=32)
    assert data.frame["split"].tolist() == ["train"] * 120 + ["valid"] * 120 + ["test"] * 120
    assert data.pixels.shape == (360, 32, 32, 3)
    assert len(data.frame.columns) == 42
    assert 0.3 < data.y.mean() < 0.7
    assert data.retarget(target="Smiling", protected="Young").target == "Smiling"


def test_real_waterbirds_counts(real, paint):
    table = pd.read_csv(real("waterbirds") / "waterbirds" / "metadata.csv")
    some = pd.concat([part.head(3) for _, part in table.groupby(["split", "y", "place"])])
    for name in some["img_filename"]:
        paint(f"birds/{name}")
    folder = paint("birds/x.png").parent
    some.to_csv(folder / "metadata.csv", index=False)
    data = load_waterbirds(folder, size=16)
    for part in ("train", "valid", "test"):
        assert counts(data.part(part)) == {"land": (3, 3), "water": (3, 3)}
    assert data.positive == "waterbird"


def test_real_xray(real):
    data = load_xray(real("xray"), size=32)
    assert counts(data) == {"Montgomery": (80, 58), "Shenzhen": (326, 336)}
    assert data.pixels.shape == (800, 32, 32, 1)
    assert data.has_mask.sum() == 704
    share = data.masks[data.has_mask].mean(axis=(1, 2))
    assert 0.05 < share.min() < share.max() < 0.6
    assert not data.masks[~data.has_mask].any()
    inside = (data.pixels[..., 0] * data.masks).sum() / data.masks.sum()
    assert inside < data.pixels[data.has_mask].mean()  # lungs are darker than the rest


def test_real_imsitu_counts_make_scenes(real):
    folder = real("imsitu")
    found = {pair: imsitu_counts(folder, pair=pair) for pair in VERB_PAIRS}
    target_in_test = {pair[0]: (c["test", 1, "man"], c["test", 1, "woman"]) for pair, c in found.items()}
    assert target_in_test == {"cooking": (12, 17), "shaving": (27, 8), "washing": (12, 20), "assembling": (30, 8)}
    assert [sum(c.values()) for c in found.values()] == [403, 395, 351, 527]
    data = scenes(counts=found["cooking", "driving"], size=24)
    assert counts(data.part("train")) == {"man": (86, 35), "woman": (53, 73)}


@pytest.fixture
def celeba(tmp_path, paint):
    names = "Attractive Male Smiling"
    faces = [f"{i:06d}.jpg" for i in range(9)]
    for i, face in enumerate(faces):
        paint(f"celeba/img_align_celeba/{face}", (10 * i, 0, 0), (178, 218), quality=95)
    folder = tmp_path / "celeba"
    rows = [f"{face}  {'1' if i % 2 else '-1'} {' 1' if i % 3 else '-1'} -1" for i, face in enumerate(faces)]
    (folder / "list_attr_celeba.txt").write_text(f"9\n{names}\n" + "\n".join(rows) + "\n")
    (folder / "list_eval_partition.txt").write_text("".join(f"{face} {i // 3}\n" for i, face in enumerate(faces)))
    return folder


def test_celeba_layout(celeba):
    for where in (celeba, celeba.parent):
        data = load_celeba(where, size=16)
        assert data.y.tolist() == [0, 1] * 4 + [0]
        assert data.groups.tolist() == [0, 1, 1] * 3
        assert np.abs(data.pixels[:, 8, 8, 0].astype(int) - 10 * np.arange(9)).max() <= 2
    first = load_celeba(celeba, size=16, limit=1)
    assert first.frame["file"].tolist() == ["000000.jpg", "000003.jpg", "000006.jpg"]


def test_a_face_that_cannot_be_read_does_not_end_the_run(celeba):
    face = celeba / "img_align_celeba" / "000004.jpg"
    face.write_bytes(face.read_bytes()[:500])
    (celeba / "img_align_celeba" / "000001.jpg").unlink()
    with pytest.warns(FairALMWarning, match=r"2 of 9 images .*000001\.jpg: there is no such file"):
        data = load_celeba(celeba, size=16)
    assert data.y.tolist() == [0, 0, 1, 1, 0, 1, 0]
    assert "runcated" in data.unreadable[1].partition("000004.jpg: ")[2]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("list_attr_celeba.txt", "", "it has no faces"),
        ("list_attr_celeba.txt", "1\nA B\n1.jpg 1\n", r"1\.jpg needs a value for each of 2 attributes"),
        ("list_attr_celeba.txt", "1\nA B\n1.jpg 1 2\n", "neither 1 nor -1"),
        ("list_eval_partition.txt", "000000.jpg 0\n", r"to which part 000001\.jpg belongs"),
        ("list_eval_partition.txt", b"\xff\xfe", "cannot be read as the official file"),
    ],
)
def test_celeba_files_that_are_not_the_official_ones(celeba, file, content, message):
    (celeba / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        load_celeba(celeba)


def test_celeba_settings(celeba):
    with pytest.raises(InputError, match="no column 'Smilin', did you mean 'Smiling'"):
        load_celeba(celeba, target="Smilin")
    for limit in (0, 2.5):
        with pytest.raises(InputError, match="limit must be"):
            load_celeba(celeba, limit=limit)
    (celeba / "list_eval_partition.txt").unlink()
    with pytest.raises(InputError, match=r"lacks list_eval_partition\.txt"):
        load_celeba(celeba)


@pytest.fixture
def xray(paint, tmp_path):
    for i in range(4):
        for folder, name in (("MontgomerySet", "MCUCXR"), ("ChinaSet_AllFiles", "CHNCXR")):
            file = f"{name}_{i:04d}_{i % 2}.png"
            paint(f"xray/{folder}/CXR_png/{file}", 50 + i, (60, 50), "L")
            if i:
                paint(f"xray/{folder}/lung_masks/{file}", 1, (60, 50), "1")
    return tmp_path / "xray"


def test_xray_layout(xray):
    data = load_xray(xray, size=16)
    assert data.frame["file"].iloc[0] == "MontgomerySet/CXR_png/MCUCXR_0000_0.png"
    assert data.y.tolist() == [0, 1] * 4
    assert data.groups.tolist() == ["Montgomery"] * 4 + ["Shenzhen"] * 4
    assert data.has_mask.tolist() == [False, True, True, True] * 2
    assert data.masks.mean(axis=(1, 2)).tolist() == [0, 1, 1, 1] * 2


def test_a_mask_of_another_size_is_named_and_its_image_kept(xray, paint):
    bad = paint("xray/ChinaSet_AllFiles/lung_masks/CHNCXR_0001_1.png", 1, (60, 60), "1")
    with pytest.warns(FairALMWarning) as caught:
        data = load_xray(xray, size=16)
    assert [str(warning.message) for warning in caught] == [
        f"1 masks could not be used; their images are kept without one: {bad}: the mask is 60 × 60 and its image"
        " 60 × 50: save it at the image's size; `unreadable` lists all."
    ]
    assert len(data) == 8
    assert data.has_mask.tolist() == [False, True, True, True, False, False, True, True]
    assert len(data.unreadable) == 1


def test_masks_stay_with_their_images_when_one_is_left_out(xray):
    (xray / "MontgomerySet" / "CXR_png" / "MCUCXR_0002_0.png").write_bytes(b"?")
    with pytest.warns(FairALMWarning, match="1 of 8 images"):
        data = load_xray(xray, size=16)
    assert data.has_mask.tolist() == [False, True, True, False, True, True, True]


def test_xray_without_masks_or_with_odd_names(xray, paint):
    for mask in xray.glob("*/lung_masks/*"):
        mask.unlink()
    assert not load_xray(xray, size=16).has_mask.any()
    paint("xray/MontgomerySet/CXR_png/thumb.png")
    with pytest.raises(InputError, match=r"thumb\.png must end in _0"):
        load_xray(xray, size=16)


MAN, WOMAN, CHILD = "n10287213", "n10787470", "n09917593"


@pytest.fixture
def imsitu(tmp_path, paint):
    """The official layout, without labels.csv."""
    folder = tmp_path / "imsitu"
    people = {
        "train": {
            "cooking": [(MAN,) * 3, (WOMAN, WOMAN, CHILD), ("", "", MAN)],
            "driving": [(MAN, WOMAN, MAN), (WOMAN,) * 3],
        },
        "dev": {"cooking": [(WOMAN,) * 3], "driving": [(CHILD,) * 3, (MAN,) * 3]},
        "test": {"cooking": [(MAN,) * 3], "driving": [(WOMAN,) * 3], "jumping": [(MAN,) * 3]},
    }
    number = 0
    for part, verbs in people.items():
        entries = {}
        for verb, agents in verbs.items():
            for three in agents:
                number += 1
                suffix = f"{verb}_{number}.jpg"
                paint(f"imsitu/of500_images_resized/{suffix}", (number, 0, 0), (256, 200))
                frames = [{"agent": agent, "place": "n04105893"} for agent in three]
                entries[suffix] = {"verb": verb, "frames": frames}
        (folder / f"{part}.json").write_text(json.dumps(entries))
    nouns = {
        MAN: {"gloss": ["man", "adult male"], "def": "an adult person who is male"},
        WOMAN: {"gloss": ["woman", "adult female"], "def": "an adult female person"},
        CHILD: {"gloss": ["child", "kid"], "def": "a young person"},
    }
    verbs = {"cooking": {"order": ["agent", "place"], "abstract": "an AGENT cooks in a PLACE"}}
    (folder / "imsitu_space.json").write_text(json.dumps({"nouns": nouns, "verbs": verbs}))
    return folder


def test_imsitu_official_annotations(imsitu):
    data = load_imsitu(imsitu, size=16)
    assert data.positive == "cooking"
    assert data.frame[["verb", "gender", "split"]].to_numpy().tolist() == [
        ["cooking", "man", "train"],
        ["cooking", "woman", "train"],
        ["cooking", "man", "train"],
        ["driving", "woman", "train"],  # the first one driving is a man to some, a woman to others
        ["cooking", "woman", "valid"],
        ["driving", "man", "valid"],  # a child is neither
        ["cooking", "man", "test"],
        ["driving", "woman", "test"],
    ]
    assert data.pixels.shape == (8, 16, 16, 3)
    assert load_imsitu(imsitu.parent, size=16, pair=("driving", "cooking")).y.tolist() == (1 - data.y).tolist()
    found = imsitu_counts(imsitu)
    assert len(found) == 12
    assert found["train", 1, "man"] == 2
    assert found["valid", 1, "man"] == 0


def test_imsitu_label_list_goes_before_the_annotations(imsitu):
    rows = ["split,image,verb,gender", "train,cooking_1.jpg,cooking,woman", "val,driving_5.jpg,driving,man"]
    (imsitu / "labels.csv").write_text("\n".join(rows) + "\n")
    data = load_imsitu(imsitu, size=16)
    assert data.frame[["file", "gender", "split"]].to_numpy().tolist() == [
        ["cooking_1.jpg", "woman", "train"],
        ["driving_5.jpg", "man", "valid"],
    ]
    (imsitu / "labels.csv").write_text("split,image,verb,gender\nholdout,a.jpg,cooking,man\n")
    with pytest.raises(InputError, match=r"Each row of .*labels\.csv"):
        load_imsitu(imsitu)


def test_imsitu_says_what_is_wrong(imsitu):
    for pair in ("cooking", ("cooking", "cooking"), ("a", "b", "c")):
        with pytest.raises(InputError, match="pair must be two different verbs"):
            load_imsitu(imsitu, pair=pair)
    with pytest.raises(InputError, match="a woman baking"):
        imsitu_counts(imsitu, pair=("cooking", "baking"))
    (imsitu / "dev.json").write_text('{"a.jpg": {"verbs": 3}}')
    with pytest.raises(InputError, match="not the official ones"):
        load_imsitu(imsitu)
    (imsitu / "dev.json").unlink()
    with pytest.raises(InputError, match=r"lacks dev\.json"):
        load_imsitu(imsitu)


@pytest.mark.parametrize("load", [load_celeba, load_waterbirds, load_xray, load_imsitu, imsitu_counts])
def test_folders_that_are_not_there(load, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"not shipped: pass their folder as data_dir.*FAIRALM_DATA"):
        load()
    with pytest.raises(InputError, match=r"There is no .* check data_dir"):
        load(tmp_path)
    monkeypatch.setenv("FAIRALM_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"There is no .* check data_dir"):
        load()


def test_waterbirds_table_that_is_not_the_official_one(tmp_path):
    for content, message in (("a,b\n1,2\n", "lacks the columns"), ("img_filename,y,place,split\na,2,0,0\n", "unknown")):
        (tmp_path / "metadata.csv").write_text(content)
        with pytest.raises(InputError, match=message):
            load_waterbirds(tmp_path)
