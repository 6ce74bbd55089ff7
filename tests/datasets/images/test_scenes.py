import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairalm.datasets.images import scenes
from fairalm.exceptions import InputError


@pytest.mark.parametrize("correlation", [0.0, 0.6, 1.0])
def test_group_has_the_correlation_asked_for(correlation):
    data = scenes(3000, correlation=correlation, size=24)
    assert data.y.mean() == 0.5
    assert np.corrcoef(data.y, data.groups == "red")[0, 1] == pytest.approx(correlation, abs=0.05)


@pytest.mark.parametrize("size", [24, 32, 64])
def test_regions_are_apart_and_lie_anywhere(size):
    data = scenes(300, size=size)
    assert data.pixels.shape == (300, size, size, 3)
    assert data.has_mask.all()
    for regions in (data.masks, data.spurious_masks):
        assert set(np.unique(regions)) == {0, 1}
        share = regions.mean(axis=(1, 2))
        assert share.min() > 0.04
        assert share.max() < 0.2
        assert (regions.sum(axis=0) > 0).mean() > 0.75
    assert not (data.masks & data.spurious_masks).any()


def test_only_the_disc_tells_the_label_and_only_the_square_the_group():
    """Steps across and down in the disc give the label away, colour in the square the group, and nothing else."""
    data = scenes(1500, correlation=0.0, size=64)
    grey = data.pixels.mean(axis=3)
    across, down = np.abs(np.roll(grey, -3, 2) - grey), np.abs(np.roll(grey, -3, 1) - grey)
    red_less_blue = data.pixels[..., 0].astype(float) - data.pixels[..., 2]
    red = (data.groups == "red").to_numpy(dtype=int)

    def accuracy(regions, labels):
        size = regions.sum(axis=(1, 2))
        cues = [(cue * regions).sum(axis=(1, 2)) / size for cue in (across, down, red_less_blue)]
        X = np.stack([cues[0] - cues[1], cues[2]], axis=1)
        return LogisticRegression().fit(X[:1000], labels[:1000]).score(X[1000:], labels[1000:])

    ground = 1 - (data.masks | data.spurious_masks)
    assert 0.8 < accuracy(data.masks, data.y) < 0.97  # the faintest stripes cannot be told
    assert accuracy(data.spurious_masks, red) > 0.99
    for regions, labels in ((data.masks, red), (data.spurious_masks, data.y), (ground, red), (ground, data.y)):
        assert accuracy(regions, labels) < 0.58


def test_counts_are_met_exactly():
    counts = {(0, "man"): 30, (0, "woman"): 4, (1, "man"): 0, (1, "woman"): 17}
    data = scenes(counts=counts, size=24)
    assert {key: int(((data.y == key[0]) & (data.groups == key[1])).sum()) for key in counts} == counts
    assert "split" not in data.frame
    assert data.y.tolist() != sorted(data.y.tolist())
    blue = data.pixels[..., 2].astype(int) > data.pixels[..., 0]
    in_square = (blue * data.spurious_masks).sum(axis=(1, 2)) / data.spurious_masks.sum(axis=(1, 2))
    assert ((in_square > 0.5) == (data.groups == "man")).all()


def test_counts_may_give_parts():
    counts = {("test", 1, 0): 3, ("train", 0, 1): 5, ("train", 1, 0): 6, ("valid", 0, 0): 2}
    data = scenes(counts=counts, size=24)
    assert data.frame["split"].tolist() == ["train"] * 11 + ["valid"] * 2 + ["test"] * 3
    assert pd.crosstab(data.part("train").groups, data.part("train").y).to_numpy().tolist() == [[0, 6], [5, 0]]


def test_the_seed_decides():
    assert (scenes(20, size=24, random_state=1).pixels == scenes(20, size=24, random_state=1).pixels).all()
    assert (scenes(20, size=24, random_state=1).pixels != scenes(20, size=24, random_state=2).pixels).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 1}, "n must be"),
        ({"n": 10.0}, "n must be"),
        ({"size": 23}, "size must be a whole number from 24"),
        ({"correlation": 2}, "between 0 .* and 1"),
        ({"correlation": float("nan")}, "between 0 .* and 1"),
        ({"counts": {}}, "keys of counts"),
        ({"counts": {"a": 3}}, "keys of counts"),
        ({"counts": {(0, "a"): 3, ("train", 1, "b"): 3}}, "keys of counts"),
        ({"counts": {(0, "a"): 3, (2, "b"): 3}}, r"got \(2, 'b'\): 3"),
        ({"counts": {(0, "a"): 3, (1, "b"): -1}}, r"got \(1, 'b'\): -1"),
        ({"counts": {(0, "a"): 3, (1, "a"): 1}}, "two groups"),
        ({"counts": {(0, "a"): 0, (1, "b"): 0}}, "count at least one image"),
        ({"counts": {("dev", 0, "a"): 3, ("dev", 1, "b"): 3}}, "a part 'dev'"),
    ],
)
def test_settings_out_of_range(arguments, message):
    with pytest.raises(InputError, match=message):
        scenes(**arguments)
