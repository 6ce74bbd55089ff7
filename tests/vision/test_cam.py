"""Maps against nets whose maps are known, against each other, and without a trace in the net."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("captum")
from torch import nn  # noqa: E402

from fairalm import FairALMWarning, InputError  # noqa: E402
from fairalm.vision.cam import maps  # noqa: E402
from fairalm.vision.nets import make_net  # noqa: E402


class Pooled(nn.Module):
    """Ends in global average pooling and a linear layer."""

    def __init__(self, outputs=1, seed=0, inplace=False):
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(
            nn.Conv2d(3, 6, 3, stride=2, padding=1), nn.BatchNorm2d(6), nn.ReLU(inplace), nn.Dropout(0.5)
        )
        self.head = nn.Linear(6, outputs)

    def features(self, x):
        return self.body(x)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


class Flat(Pooled):
    """Has `features` and `head`, but its head sees places, not their mean."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6 * 8 * 8, 1)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def images(n=5, size=16, channels=3, seed=0):
    return torch.randn(n, channels, size, size, generator=torch.Generator().manual_seed(seed))


def logit(net, x):
    with torch.no_grad():
        out = net.eval()(x)
    return (out[:, 0] if out.shape[1] == 1 else out[:, 1] - out[:, 0]).numpy()


def test_a_net_that_looks_twice_has_no_map():
    pytest.importorskip("efficientnet_lite_pytorch")
    net = make_net("efficientnet-lite0-grid", in_channels=3, size=64)
    with pytest.raises(InputError, match="runs a convolution twice per image"):
        maps(net, torch.zeros(1, 3, 64, 64))


def test_map_known_pixel_by_pixel():
    """Channels: what is above 1, and what is below -1; the second speaks against the label twice as loud."""

    class Known(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(2, 1)
            self.head.weight.data = torch.tensor([[1.0, -2.0]])

        def features(self, x):
            return torch.cat([(x - 1).relu(), (-1 - x).relu()], dim=1)

        def forward(self, x):
            return self.head(self.features(x).mean((2, 3)))

    x = torch.tensor([[[[0.0, 3.0, -0.5], [-2.0, 1.0, -4.0]]]])
    assert maps(Known(), x).tolist() == [[[0.0, 2.0, 0.0], [-2.0, 0.0, -6.0]]]


@pytest.mark.parametrize("outputs", [1, 2])
def test_mean_is_logit_less_bias(outputs):
    net, x = Pooled(outputs), images()
    bias = net.head.bias.detach().numpy()
    bias = bias[0] if outputs == 1 else bias[1] - bias[0]
    found = maps(net, x)
    assert found.shape == (5, 16, 16)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.mean(axis=(1, 2)), logit(net, x) - bias, atol=1e-6)


@pytest.mark.parametrize("outputs", [1, 2])
def test_cam_is_grad_cam_up_to_scale(outputs):
    net, x = Pooled(outputs), images()
    np.testing.assert_allclose(maps(net, x), 64 * maps(net, x, layer="body"), atol=1e-5)


def test_grad_cam_by_hand():
    net, x = Flat().eval(), images(1)
    layer = net.body[0](x).detach().requires_grad_()
    net.head(net.body[1:](layer).flatten(1)).sum().backward()
    small = (layer.grad.mean((2, 3), keepdim=True) * layer.detach()).sum(1, keepdim=True)
    expected = nn.functional.interpolate(small, (16, 16), mode="bilinear", align_corners=False)[0, 0]
    np.testing.assert_allclose(maps(net, x)[0], expected.numpy(), atol=1e-6)


def test_other_pooling_is_not_taken_for_the_mean():
    class Highest(Pooled):
        def forward(self, x):
            return self.head(self.features(x).amax((2, 3)))

    net, x = Highest(), images()
    assert (maps(net, x) == maps(net, x, layer="body.0")).all()


def test_relu_in_place_changes_nothing():
    x = images()
    plain, inplace = Pooled(), Pooled(inplace=True).requires_grad_(False)
    np.testing.assert_allclose(maps(plain, x, layer="body.2"), maps(inplace, x, layer="body.2"), atol=1e-7)
    assert np.isfinite(maps(inplace, x, layer="body.1")).all()


def test_last_convolution_is_the_last_to_run_with_places():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.second = nn.Conv2d(4, 4, 3)
            self.first = nn.Conv2d(3, 4, 3)
            self.squeeze = nn.Conv2d(4, 4, 1)  # after the pooling
            self.last = nn.Linear(4, 1)

        def forward(self, x):
            x = self.second(self.first(x).relu()).relu().mean((2, 3), keepdim=True)
            return self.last(self.squeeze(x).flatten(1))

    net, x = Odd(), images()
    assert (maps(net, x) == maps(net, x, layer="second")).all()


def test_labels():
    net, x = Pooled(), images(20)
    net.head.bias.data -= logit(net, x).mean()
    positive, found = logit(net, x) > 0, maps(net, x)
    assert 0 < positive.sum() < 20
    assert (maps(net, x, target=0) == -found).all()
    assert (maps(net, x, target=None) == np.where(positive[:, None, None], found, -found)).all()
    by_gradient = maps(net, x, target=None, layer="body")
    np.testing.assert_allclose(64 * by_gradient, maps(net, x, target=None), atol=1e-5)


@pytest.mark.parametrize("layer", [None, "body.0"])
def test_batches(layer):
    net, x = Pooled(), images(7)
    whole = maps(net, x, layer=layer)
    for given in (x.numpy(), [x[:3], x[3:]], [(x[:3], "y"), (x[3:], "y")], iter(x.split(2))):
        np.testing.assert_allclose(maps(net, given, layer=layer, batch_size=2), whole, atol=1e-6)


@pytest.mark.parametrize("layer", [None, "body.0"])
@pytest.mark.parametrize("frozen", [False, True])
def test_net_is_left_as_it_was(layer, frozen):
    net, x = Pooled().train(), images().requires_grad_()
    net.body[1].eval()
    net.requires_grad_(not frozen)
    before = {key: value.clone() for key, value in net.state_dict().items()}
    with torch.no_grad():
        first = maps(net, x, layer=layer)
    assert (maps(net, x, layer=layer) == first).all()  # no dropout
    assert [part.training for part in net.modules()] == [part is not net.body[1] for part in net.modules()]
    assert all(p.grad is None and p.requires_grad is not frozen for p in net.parameters())
    assert x.grad is None
    assert all((net.state_dict()[key] == value).all() for key, value in before.items())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in net.modules())


def test_nets_of_the_package():
    net, x = make_net("resnet18", in_channels=1, size=64), images(2, 64, 1)
    with pytest.warns(FairALMWarning, match="2 × 2 places, too few"):
        found = maps(net, x)
    np.testing.assert_allclose(found.mean(axis=(1, 2)), logit(net, x) - net.head.bias.item(), atol=1e-5)
    assert not np.allclose(maps(net, x, layer="layer2"), found)
    with pytest.raises(InputError, match="one place: pass larger images"):
        maps(net, images(2, 32, 1))
    with pytest.raises(InputError, match="no convolution"):
        maps(make_net("relu3", in_channels=1, size=28), images(2, 28, 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "net"}, "`model` must be a torch.nn.Module; got str"),
        ({"target": 2}, "`target` must be 1, 0 or None"),
        ({"layer": "conv9"}, "The net has no layer 'conv9': choose among body, body.0"),
        ({"layer": "head"}, "The map would have one place"),
        ({"batch_size": 0}, "`batch_size` must be an integer, 1 or more"),
        ({"x": images()[0]}, r"\(n, channels, height, width\), n > 0; got shape \(3, 16, 16\)"),
        ({"x": images()[:0]}, r"got shape \(0, 3, 16, 16\)"),
        ({"x": []}, "There is no image"),
        ({"x": ["cat.png"]}, "got str"),
        ({"x": 3}, "`x` must be a tensor or batches of them; got int"),
        ({"x": torch.zeros(2, 3, 8, 8, dtype=torch.uint8)}, "must be floats"),
        ({"x": torch.full((2, 3, 8, 8), torch.nan)}, "NaN or infinite"),
        ({"model": Pooled(outputs=3)}, r"one logit or two per image; got shape \(1, 3\)"),
    ],
)
def test_mistakes(change, message):
    given = {"model": Pooled(), "x": images(), **change}
    with pytest.raises(InputError, match=message):
        maps(given.pop("model"), given.pop("x"), **given)
