"""``fairalm cam`` on real files: what it writes and says, and each mistake in one sentence."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")
pytest.importorskip("captum")

from fairalm import FairALMWarning  # noqa: E402
from fairalm.cli import app  # noqa: E402
from fairalm.datasets.images import scenes  # noqa: E402
from fairalm.measures.means import differences_of, means_of  # noqa: E402
from fairalm.runs.heat_maps import _scores  # noqa: E402
from fairalm.vision.cam import maps  # noqa: E402
from fairalm.vision.heat_map_scores import SHARES, focus, leak  # noqa: E402
from fairalm.vision.image_model import ImageModel, load_image_model  # noqa: E402
from fairalm.vision.nets import make_net  # noqa: E402


def make_run(folder, target="upright", seed=0, size=64):
    torch.manual_seed(seed)
    settings = {"net": "resnet18", "size": size, "channels": 3, "target": target, "positive": 1, "negative": 0}
    scale = {"mean": [110.0] * 3, "std": [40.0] * 3}
    fair = {"data": {}, "protected": ["group"], "groups": ["0", "1"], "constraint": "equal-opportunity", "tol": 0.01}
    net = make_net("resnet18", in_channels=3, size=size).eval()
    ImageModel(net, settings | scale | fair, pd.DataFrame({"epoch": [1]}), 0).save(folder)


@pytest.fixture(scope="module")
def data():
    return scenes(12, size=64)


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    """Twelve images and their masks as files, a table of the images, and nets that were not trained."""
    folder = tmp_path_factory.mktemp("cam")
    for name, arrays in (("photos", data.pixels), ("masks", 255 * data.masks)):
        (folder / name).mkdir()
        for file, array in zip(data.frame["file"], arrays, strict=True):
            Image.fromarray(array).save(folder / name / f"{file}.png")
    data.frame.assign(file="photos/" + data.frame["file"] + ".png").to_csv(folder / "photos.csv", index=False)
    (folder / "empty").mkdir()
    make_run(folder / "fair")
    make_run(folder / "plain", seed=1)
    make_run(folder / "group", "group", seed=2)
    make_run(folder / "large", size=96)
    return folder


@pytest.fixture
def run(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path / "cache"))

    def call(*args):
        out = () if "-o" in args else ("-o", tmp_path / "out")
        result = CliRunner().invoke(app, ["cam", *map(str, args), *map(str, out), "--overwrite"])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return call


def test_numbers_and_files(run, data, folder, tmp_path):
    options = ("--plain", "plain", "--against", "group", "--masks", "masks")
    code, out, err = run("fair", "photos", *options)
    assert code == 0, err
    assert len(err.splitlines()) == 1  # for three nets
    assert "2 × 2 places, too few" in err
    assert "12 images." in out
    assert "sheet.png, cam.json" in out.splitlines()[-1]
    assert max(map(len, out.splitlines()[:-1])) <= 80
    with Image.open(tmp_path / "out" / "sheet.png") as sheet:
        assert min(sheet.size) > 500
    found = json.loads((tmp_path / "out" / "cam.json").read_text())
    for kind, name in (("leak", "excess"), ("focus", "peak_outside")):
        for net in ("fair", "unconstrained", "difference"):
            low, high = (100 * found[kind][net][name][end] for end in ("low", "high"))
            assert f"[{low:.1f}, {high:.1f}]" in out  # nothing is cut off
    by_hand = {}
    for name in ("fair", "plain", "group"):
        model = load_image_model(folder / name)
        with pytest.warns(FairALMWarning, match="2 × 2 places"):
            by_hand[name] = maps(model.net, model.batches(data.pixels), target=None)
    leaks = {name: leak(by_hand[name], by_hand["group"]) for name in ("fair", "plain")}
    focuses = {name: focus(by_hand[name], data.masks) for name in ("fair", "plain")}
    for kind, tables in (("leak", leaks), ("focus", focuses)):
        for name, table in {"fair": tables["fair"], "unconstrained": tables["plain"]}.items():
            assert found[kind][name] == {
                key: measure.to_dict() for key, measure in means_of(table, shares=SHARES).items()
            }
        paired = differences_of(*(tables[name].drop(columns="constant") for name in ("fair", "plain")))
        assert found[kind]["difference"] == {key: measure.to_dict() for key, measure in paired.items()}
    both = (focuses["fair"]["peak_outside"] & focuses["plain"]["peak_outside"]).mean()
    assert found["focus"]["both"]["peak_outside"]["value"] == both
    assert found["config"]["protected"] == "group"

    code, out, _ = run("fair", "photos.csv", "--image-column", "file", *options, "--json")
    assert code == 0
    assert json.loads(out)["leak"] == found["leak"]


def test_one_net_alone_and_the_left_half(run, data, folder, tmp_path):
    code, out, err = run("fair", "photos", "--masks", "left", "--label", "positive", "--layer", "layer2")
    assert code == 0, err
    found = json.loads((tmp_path / "out" / "cam.json").read_text())
    model = load_image_model(folder / "fair")
    by_hand = maps(model.net, model.batches(data.pixels), layer="layer2")
    assert found["focus"]["fair"]["inside"]["value"] == pytest.approx(
        (np.maximum(by_hand, 0)[:, :, :32].sum((1, 2)) / np.maximum(by_hand, 0).sum((1, 2))).mean()
    )
    assert found["leak"] == {}


def test_bad_images_and_masks_are_left_out_and_named(run, folder, tmp_path):
    photos, masks = (shutil.copytree(folder / name, tmp_path / name) for name in ("photos", "masks"))
    photo = photos / "scene-00003.png"
    photo.write_bytes(photo.read_bytes()[:500])
    Image.new("L", (20, 20), 255).save(masks / "scene-00005.png")
    (masks / "scene-00007.png").unlink()
    Image.new("L", (64, 64)).save(masks / "scene-00008.png")
    code, out, err = run("fair", photos, "--masks", masks, "--layer", "layer2")
    assert code == 0, err
    assert "2 files could not be used" in out
    assert "scene-00003.png" in out.replace("\n", "")
    found = json.loads((tmp_path / "out" / "cam.json").read_text())
    assert found["data"]["images"] == 11
    assert found["focus"]["fair"]["inside"]["n"] == 8
    assert len(found["data"]["unreadable"]) == 2
    assert "scene-00003.png" in found["data"]["unreadable"][0]
    assert "20 × 20" in found["data"]["unreadable"][1]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("none", "photos"), "none holds no image model"),
        (("fair", "none.csv"), "There is no file none.csv"),
        (("fair", "photos.csv"), "photos.csv is a table: name its column of paths with --image-column."),
        (("fair", "photos.csv", "--image-column", "fil"), "There is no column 'fil', did you mean 'file'?"),
        (("fair", "photos", "--image-column", "file"), "--image-column is for a table; photos is a folder"),
        (("fair", "empty"), "There is no image in empty: files must end in .bmp"),
        (("fair", "photos", "--masks", "lungs"), "There is no folder lungs: --masks takes a folder of masks, or left."),
        (("fair", "photos", "--masks", "empty"), "No mask in empty has the name of an image, for example scene-00000"),
        (("fair", "photos", "--label", "both"), "--label must be one of"),
        (("fair", "photos", "--area", "20"), "`area` must lie between 0 and 1, for example 0.2; got 20.0."),
        (("fair", "photos", "--layer", "layer9"), "The net has no layer 'layer9'"),
        (("fair", "photos", "--plain", "large"), "The net of large takes images of size 96, that of fair of size 64"),
        (("fair", "photos", "--plain", "group"), "The net of group predicts 'group', that of fair 'upright'"),
        (("fair", "photos", "--against", "fair"), "--against for one of the protected attribute."),
        (("fair", "photos", "-o", "photos.csv"), "photos.csv: File exists."),
    ],
)
def test_mistakes(run, tmp_path, args, message):
    code, out, err = run(*args)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert message in err
    assert not (tmp_path / "out" / "cam.json").exists()


def test_scores_say_how_many_maps_are_constant():
    table = focus(np.stack([np.eye(3), np.ones((3, 3)), np.zeros((3, 3))]), np.eye(3))
    note = "2 of 3 images have a constant map, which counts as chance"
    assert _scores({"fair": table})["fair"]["inside"].note == note
