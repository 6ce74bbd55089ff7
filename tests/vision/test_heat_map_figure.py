"""The figure of heat maps: what is coloured, and what is refused."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")

from fairalm import InputError  # noqa: E402
from fairalm.vision.heat_map_figure import draw_heat_maps  # noqa: E402

GREY = np.full((2, 16, 16, 3), 128, np.uint8)


def read(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_only_the_highest_places_are_coloured(tmp_path):
    maps = np.zeros((2, 16, 16))
    maps[0, :8, :8] = 1 + np.arange(64).reshape(8, 8)  # a quarter, all of it above the rest
    maps[1, 8:, :8] = maps[0, :8, :8]
    draw_heat_maps(GREY, {"corner": maps, "even": np.ones_like(maps)}, tmp_path / "maps.png", area=0.25)
    image, corner, even = np.array_split(read(tmp_path / "maps.png"), 3, axis=1)
    assert np.ptp(image, axis=2).max() == 0
    for part in np.array_split(np.ptp(corner, axis=2) > 30, 2):
        assert part.mean() == pytest.approx(0.25, abs=0.05)
    tints = even[[len(even) // 4, len(even) // 3, 3 * len(even) // 4], even.shape[1] // 2]
    assert (tints == tints[0]).all()
    assert 10 < np.ptp(tints[0]) < 60  # faint


def test_masks_text_and_grey_images(tmp_path):
    mask = np.zeros((2, 16, 16), bool)
    mask[0, 4:12, 4:12] = True
    arguments = (GREY[..., :1], {"fair": np.zeros((2, 16, 16))})
    draw_heat_maps(*arguments, tmp_path / "plain.png")
    draw_heat_maps(*arguments, tmp_path / "full.png", masks=mask, rows=["first", "second"])
    plain, full = (read(tmp_path / f"{name}.png") for name in ("plain", "full"))
    assert full.shape[1] > plain.shape[1]  # room for the text
    assert full.shape[0] == plain.shape[0]
    blue = (full[..., 2] - full[..., 0] > 100).sum(axis=1)
    assert blue[: len(blue) // 2].sum() > 100  # the first image has an outline, the second none
    assert blue[len(blue) // 2 + 5 :].sum() == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": GREY / 255}, "`images` must be uint8 of shape"),
        ({"images": GREY[..., :2]}, r"got uint8 \(2, 16, 16, 2\)"),
        ({"images": GREY[:0]}, "A figure has 1 to 60 images; got 0"),
        ({"images": np.repeat(GREY, 40, axis=0)}, "got 80: pass some of them"),
        ({"columns": {}}, "There is no map to draw"),
        ({"columns": {"fair": np.zeros((2, 8, 8))}}, r"'fair' has shape \(2, 8, 8\), the images \(2, 16, 16\)"),
        ({"masks": np.zeros((16, 16))}, r"'masks' has shape \(16, 16\)"),
        ({"rows": ["one"]}, "`rows` has 1 texts for 2 images"),
        ({"area": 0.0}, "`area` must lie between 0 and 1"),
    ],
)
def test_mistakes(tmp_path, change, message):
    arguments = {"images": GREY, "columns": {"fair": np.zeros((2, 16, 16))}, **change}
    with pytest.raises(InputError, match=message):
        draw_heat_maps(path=tmp_path / "maps.png", **arguments)
    assert not (tmp_path / "maps.png").exists()
