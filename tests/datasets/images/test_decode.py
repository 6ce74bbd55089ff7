import io

import numpy as np
import pytest

from fairalm.datasets.images._decode import decode, decode_all

Image = pytest.importorskip("PIL.Image")


def stripes(width, height, *, upright):
    """Red, green and blue thirds."""
    ramp = np.repeat(np.eye(3, dtype=np.uint8) * 255, (width if upright else height) // 3, axis=0)
    return np.tile(ramp[None], (height, 1, 1)) if upright else np.tile(ramp[:, None], (1, width, 1))


def test_the_square_in_the_middle_is_kept(tmp_path):
    for upright, name in ((True, "wide.png"), (False, "tall.png")):
        size = (90, 30) if upright else (30, 90)
        Image.fromarray(stripes(*size, upright=upright)).save(tmp_path / name)
        assert decode((str(tmp_path / name),), 16, "colour").tolist() == [[[0, 255, 0]] * 16] * 16


def test_shrinking_averages(tmp_path):
    board = np.indices((64, 64)).sum(axis=0) % 2 * 255
    Image.fromarray(board.astype(np.uint8)).save(tmp_path / "board.png")
    found = decode((str(tmp_path / "board.png"),), 8, "grey")
    assert found.shape == (8, 8, 1)
    assert np.abs(found.astype(int) - 127).max() <= 3


def test_a_camera_s_note_turns_the_image(tmp_path):
    image = Image.fromarray(stripes(60, 60, upright=True))
    exif = Image.Exif()
    exif[0x0112] = 6  # show it turned by a quarter
    image.save(tmp_path / "turned.jpg", exif=exif, quality=95, subsampling=0)
    found = decode((str(tmp_path / "turned.jpg"),), 60, "colour").astype(int)
    assert found[5, :, 0].min() > 240
    assert found[55, :, 2].min() > 240


def test_large_jpeg_at_a_fraction_looks_the_same(tmp_path):
    ramp = np.add.outer(np.linspace(0, 120, 900), np.linspace(0, 130, 1200)).astype(np.uint8)
    Image.fromarray(ramp).save(tmp_path / "large.jpg", quality=95)
    Image.fromarray(ramp).save(tmp_path / "large.png")
    jpeg, png = (decode((str(tmp_path / f"large.{suffix}"),), 32, "grey").astype(int) for suffix in ("jpg", "png"))
    assert np.abs(jpeg - png).max() <= 3


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("L", 90, (90, 90, 90)),
        ("1", 1, (255, 255, 255)),
        ("RGBA", (10, 20, 30, 0), (10, 20, 30)),
        ("CMYK", (0, 0, 0, 0), (255, 255, 255)),
        ("I;16", 0x5A12, (0x5A, 0x5A, 0x5A)),
    ],
)
def test_every_mode_becomes_eight_bits_of_colour(paint, mode, colour, expected):
    path = paint("a.tif", colour, mode=mode)
    assert decode((str(path),), 8, "colour")[0, 0].tolist() == list(expected)


def test_a_mask_is_0_and_1_and_is_not_averaged(tmp_path, paint):
    image = paint("image.png", size=(60, 40))
    mask = np.zeros((40, 60), np.uint8)
    mask[:20] = 1  # 1 rather than 255 is common
    Image.fromarray(mask).save(tmp_path / "mask.png")
    found = decode((str(tmp_path / "mask.png"), str(image)), 10, "mask")
    assert found[..., 0].tolist() == [[1] * 10] * 5 + [[0] * 10] * 5


def jpeg_bytes():
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "jpeg")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "there is no such file"),
        (b"", "it is empty"),
        (b"<html>not found</html>", "it is not an image"),
        (jpeg_bytes()[:900], "truncated"),
        (jpeg_bytes()[:30], "."),
    ],
)
def test_what_cannot_be_read_has_a_reason_and_its_neighbours_are_read(tmp_path, paint, content, reason):
    bad = tmp_path / "bad.jpg"
    if content is not None:
        bad.write_bytes(content)
    good = str(paint("good.png"))
    pixels, reasons = decode_all([(good,), (str(bad),), (str(tmp_path),), (good,)], 8, "colour")
    assert pixels.shape == (2, 8, 8, 3)
    assert (reasons[0], reasons[2], reasons[3]) == (None, "it is a folder", None)
    assert reason in reasons[1] if len(reason) > 1 else reasons[1]
    assert "\n" not in reasons[1]


def test_real_numbers_and_masks_of_another_size_are_refused(tmp_path, paint):
    real = paint("real.tif", 0.5, mode="F")
    mask, image = paint("mask.png", 1, (30, 40), "L"), paint("image.png")
    pixels, reasons = decode_all([(str(real),)], 8, "grey")
    assert pixels.shape == (0, 8, 8, 1)
    assert "real numbers" in reasons[0]
    assert decode_all([(str(mask), str(image))], 8, "mask")[1] == [
        "the mask is 30 × 40 and its image 40 × 40: save it at the image's size"
    ]
