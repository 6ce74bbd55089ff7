"""Leak and focus against values counted by hand, against all pairs, and on nets that look where we know."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

pytest.importorskip("torch")

from fairalm import InputError
from fairalm.datasets.images import scenes
from fairalm.measures import rate_interval
from fairalm.measures.means import differences_of, means_of
from fairalm.vision.heat_map_scores import focus, leak, top

RNG = np.random.default_rng


def centred(n, rng, shared):
    """Maps that prefer the middle, and pairs of them that share a part of their noise."""
    middle = -np.hypot(*np.mgrid[-3:4, -3:4]) / 2
    own = rng.normal(size=(2, n, 7, 7)) + shared * rng.normal(size=(n, 7, 7))
    return own + middle


def test_top_takes_exactly_the_area():
    maps = RNG(0).normal(size=(20, 5, 7))
    maps[10:] = maps[10:].round()  # many equal values
    for area in (0.01, 0.2, 0.5, 0.999):
        member = top(maps, area)
        np.testing.assert_allclose(member.sum(axis=(1, 2)), max(round(35 * area), 1), rtol=1e-5)
        assert member.min() >= 0
        assert member.max() <= 1
        for one, part in zip(maps, member, strict=True):
            assert one[part > 0].min() >= one[part < 1].max(initial=-np.inf)  # the highest places, and no others


def test_overlap_by_hand():
    maps = np.zeros((4, 2, 5))
    against = np.zeros((4, 2, 5))
    maps[:, 0, :2] = 2, 1
    against[0, 0, :2] = 1, 9  # the same two places
    against[1, 0, 1:3] = 1, 1  # one of them
    against[2, 1, :2] = 5, 1  # none
    against[3] = 7.0  # constant
    found = leak(maps, against, area=0.2)
    np.testing.assert_allclose(found["overlap"], [1, 0.5, 0, 0.2], atol=1e-6)
    assert found["constant"].tolist() == [False, False, False, True]


def test_equal_places_share_the_rest_of_the_area():
    """One place in ten stands out, two in ten are wanted: the second one is a draw among nine."""
    maps = np.zeros((2, 2, 5))
    maps[0, 0, 0] = maps[1, 1, 1] = 1
    same, other = leak(maps, maps)["overlap"][0], leak(maps[:1], maps[1:])["overlap"][0]
    assert same == pytest.approx((1 + 9 / 81) / 2)
    assert other == pytest.approx((2 / 9 + 8 / 81) / 2)


def test_scale_offset_and_rounding_do_not_matter():
    rng = RNG(1)
    maps, against = rng.normal(size=(2, 30, 6, 6)).astype(np.float32)
    expected = leak(maps, against)
    pd.testing.assert_frame_equal(leak(np.exp(maps), 8 * against - 3), expected)
    flat = np.float32(5) + np.float32(1e-6) * maps  # a constant map as a net computes it
    found = leak(flat, against)
    assert found["constant"].all()
    np.testing.assert_allclose(found["overlap"], 7 / 36, rtol=1e-5)
    assert leak(maps, maps)["overlap"].to_numpy() == pytest.approx(1)


def test_chance_is_the_mean_over_all_pairs_of_different_images():
    maps, against = centred(12, RNG(2), shared=1)
    pairs = [leak(maps[[i]], against[[j]])["overlap"][0] for i in range(12) for j in range(12) if i != j]
    found = means_of(leak(maps, against))
    assert found["chance"].value == pytest.approx(np.mean(pairs))
    assert found["excess"].value == pytest.approx(found["overlap"].value - np.mean(pairs))


def test_no_leak_between_unrelated_maps():
    found = means_of(leak(*centred(300, RNG(3), shared=0)))
    assert found["overlap"].low > 0.25
    assert found["excess"].low < 0 < found["excess"].high


def test_intervals_cover():
    """Of overlap, chance and excess, about 95 of 100 intervals hold the truth, here from one large sample."""
    truth = means_of(leak(*centred(20_000, RNG(4), shared=1)))
    rng, hits = RNG(5), []
    for _ in range(400):
        found = means_of(leak(*centred(50, rng, shared=1)))
        hits.append([found[name].low <= truth[name].value <= found[name].high for name in truth if name != "constant"])
    share = np.mean(hits, axis=0)
    assert (share > 0.92).all(), share
    assert (share < 0.98).all(), share


def test_average_is_students_interval_and_the_shares_are_rates():
    maps, mask = RNG(6).normal(size=(40, 6, 6)), np.eye(6)
    scores = focus(maps, mask)
    found = means_of(scores)
    expected = stats.ttest_1samp(scores["inside"], 0).confidence_interval()
    assert (found["inside"].low, found["inside"].high) == pytest.approx(tuple(expected))
    k = int(scores["peak_outside"].sum())
    assert (found["peak_outside"].low, found["peak_outside"].high) == pytest.approx(rate_interval(k, 40))
    assert found["inside"].n == 40
    assert found["inside"].note == ""


def test_difference_is_paired():
    rng = RNG(7)
    base = rng.normal(size=(60, 6, 6))
    first, second = (focus(base + 0.1 * rng.normal(size=base.shape), np.eye(6)) for _ in range(2))
    found = differences_of(first, second)
    expected = stats.ttest_rel(first["inside"], second["inside"]).confidence_interval()
    assert (found["inside"].low, found["inside"].high) == pytest.approx(tuple(expected))
    spread = means_of(first)["inside"]
    assert found["inside"].high - found["inside"].low < spread.high - spread.low
    assert found["peak_outside"].value == pytest.approx((first["peak_outside"] * 1.0 - second["peak_outside"]).mean())
    assert differences_of(second, first)["inside"].value == pytest.approx(-found["inside"].value)


def test_focus_by_hand():
    mask = np.array([[1, 1, 0, 0]])
    maps = np.array(
        [
            [[3.0, -5.0, 1.0, 0.0]],
            [[1.0, 0.0, 1.5, 1.5]],  # two peaks, both outside
            [[2.0, 0.0, 2.0, 0.0]],  # two peaks, one inside
            [[-1.0, -2.0, -3.0, -4.0]],  # nothing speaks for the label
            [[2.0, 2.0, 2.0, 2.0]],
            [[0.0, 0.0, 0.0, 0.0]],
        ]
    )
    found = focus(maps, mask)
    np.testing.assert_allclose(found["inside"], [0.75, 0.25, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(found["overlap"], [0.5, 0, 0.5, 1, 0.5, 0.5])
    assert found["peak_outside"].tolist() == [False, True, False, False, False, False]
    assert found["mostly_outside"].tolist() == [False, True, False, False, False, False]
    assert found["constant"].tolist() == [False, False, False, True, True, True]
    assert found["chance"].eq(0.5).all()
    masks = np.broadcast_to(mask, maps.shape)
    pd.testing.assert_frame_equal(focus(maps, masks.astype(bool)), found)


def test_one_image():
    found = means_of(leak(np.eye(3)[None], np.eye(3)[None]))
    assert (found["overlap"].low, found["overlap"].note) == (None, "one row: no interval")
    assert (found["chance"].value, found["excess"].value) == (None, None)
    assert str(found["chance"]) == "undefined in 1 of 1 rows"


@pytest.fixture(scope="module")
def trained():
    """Maps of nets trained for seconds: on the square's colour, twice; on the stripes; on both, which agree."""
    torch = pytest.importorskip("torch")
    from torch import nn

    from fairalm.vision.cam import maps

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            first = nn.Conv2d(3, 16, 5, padding=2, bias=False), nn.BatchNorm2d(16), nn.ReLU()
            second = nn.Conv2d(16, 24, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU()
            third = nn.Conv2d(24, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU()
            self.features, self.head = nn.Sequential(*first, *second, *third), nn.Linear(24, 1)

        def forward(self, x):
            return self.head(self.features(x).mean((2, 3)))

    def as_tensor(data):
        return (torch.from_numpy(np.array(data.pixels)).permute(0, 3, 1, 2).float() - 110) / 40

    def fit(data, label, epochs, seed):
        torch.manual_seed(seed)
        net, x, y = Net(), as_tensor(data), torch.tensor(np.array(label, dtype=np.float32))
        optimizer = torch.optim.Adam(net.parameters(), 1e-2)
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(32):
                loss = nn.functional.binary_cross_entropy_with_logits(net(x[rows])[:, 0], y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return net

    def scene(n, correlation, seed):
        return scenes(n, correlation=correlation, size=24, random_state=seed)

    apart, together, test = scene(300, 0.0, 0), scene(300, 1.0, 1), scene(200, 0.0, 2)
    is_red = apart.groups == "red"
    nets = {
        "colour": fit(apart, is_red, 4, seed=0),
        "colour again": fit(apart, is_red, 4, seed=1),
        "stripes": fit(apart, apart.y, 12, seed=0),
        "both": fit(together, together.y, 4, seed=0),
    }
    return test, {name: maps(net, as_tensor(test), target=None) for name, net in nets.items()}


def test_nets_look_where_we_know(trained):
    test, found = trained
    on_square = means_of(leak(found["colour again"], found["colour"]))
    assert on_square["overlap"].low > 0.7
    assert on_square["excess"].low > 0.4
    disc, square = (means_of(focus(found["colour again"], masks)) for masks in (test.masks, test.spurious_masks))
    assert disc["inside"].high < 0.08
    assert disc["peak_outside"].low > 0.9
    assert square["inside"].low > 2 * square["chance"].value

    on_disc = means_of(leak(found["stripes"], found["colour"]))
    assert on_disc["overlap"].high < 0.2
    assert on_disc["excess"].high < 0
    disc = means_of(focus(found["stripes"], test.masks))  # some discs are too faint for any net
    assert disc["inside"].low > 2 * disc["chance"].value
    assert disc["overlap"].low > 0.35
    assert disc["peak_outside"].high < 0.5


def test_the_shortcut_shows_in_the_paired_differences(trained):
    test, found = trained
    leaks = {name: leak(found[name], found["colour"]) for name in ("stripes", "both")}
    focuses = {name: focus(found[name], test.masks) for name in ("stripes", "both")}
    assert differences_of(leaks["stripes"], leaks["both"])["overlap"].high < -0.2
    assert differences_of(focuses["stripes"], focuses["both"])["inside"].low > 0.1
    assert differences_of(focuses["stripes"], focuses["both"])["peak_outside"].high < 0


MAPS = np.arange(18.0).reshape(2, 3, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: leak(MAPS, MAPS[:1]), r"`maps` has shape \(2, 3, 3\), `against` \(1, 3, 3\)"),
        (lambda: leak(MAPS[0], MAPS[0]), r"`maps` must be numbers of shape \(n, height, width\); got float64 \(3, 3\)"),
        (lambda: leak(MAPS, MAPS.astype(str)), "`against` must be numbers"),
        (lambda: leak(MAPS[:0], MAPS[:0]), "must be numbers of shape"),
        (lambda: leak(MAPS * np.nan, MAPS), "`maps` has NaN or infinite values"),
        (lambda: leak(MAPS, MAPS, area=20), "`area` must lie between 0 and 1, for example 0.2; got 20"),
        (lambda: leak(MAPS, MAPS, area=float("nan")), "`area` must lie between"),
        (lambda: focus(MAPS, np.ones((2, 2))), r"`masks` has shape \(2, 2\), `maps` \(2, 3, 3\)"),
        (lambda: focus(MAPS, 255 * np.eye(3)), "`masks` must hold 0 and 1 only"),
        (lambda: focus(MAPS, np.eye(3).astype(str)), "`masks` must hold 0 and 1 only"),
        (
            lambda: focus(MAPS, np.stack([np.eye(3), np.zeros((3, 3))])),
            r"1 masks have no place inside \(the first: 1\)",
        ),
        (lambda: means_of(focus(MAPS, np.eye(3))[:0]), "at least one row"),
        (lambda: differences_of(focus(MAPS, np.eye(3)), leak(MAPS, MAPS)), "the same columns and rows"),
        (lambda: differences_of(leak(MAPS, MAPS), leak(MAPS[:1], MAPS[:1])), "the same columns and rows"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(InputError, match=message):
        call()
