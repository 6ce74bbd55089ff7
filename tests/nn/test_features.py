"""Features against the net's own layers; the folder they are kept in, killed, resumed and refused."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from fairalm import InputError  # noqa: E402
from fairalm.nn.features import Features, compute_features  # noqa: E402
from fairalm.nn.head import find_head  # noqa: E402


def make_net(seed=0, outputs=1):
    torch.manual_seed(seed)
    body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    return nn.Sequential(body, nn.Dropout(0.5), nn.Linear(16, outputs))


def make_rows(n=100, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 1, 8, 8, generator=generator)
    return TensorDataset(x, torch.arange(n) % 2, torch.arange(n) // 2 % 2)


def make_loader(n=100, seed=0, batch_size=16, **settings):
    return DataLoader(make_rows(n, seed), batch_size=batch_size, **settings)


class Counting(nn.Module):
    """A net that counts the rows it is run on."""

    seen = 0

    def __init__(self, shift=0.0):
        super().__init__()
        self.shift, self.head = shift, nn.Linear(64, 1, bias=False)
        nn.init.ones_(self.head.weight)

    def forward(self, x):
        type(self).seen += len(x)
        return self.head(x.flatten(1) + self.shift)


class StopError(Exception):
    pass


def stopping(loader, after):
    for i, batch in enumerate(loader):
        if i == after:
            raise StopError
        yield batch


def test_features_are_what_the_last_layer_sees():
    net, rows = make_net().train(), make_rows()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    found = compute_features(net, DataLoader(rows, batch_size=16))
    assert net.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    torch.testing.assert_close(found.x, net[0].eval()(rows.tensors[0]).detach())
    np.testing.assert_array_equal(found.y, rows.tensors[1])
    np.testing.assert_array_equal(found.group, rows.tensors[2])
    assert not found.x.is_inference()


def test_inputs_may_be_named_or_several():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(3, 2)

        def forward(self, left, right):
            return self.head(left - right)

    left, right, y, group = torch.randn(6, 3), torch.randn(6, 3), torch.arange(6) % 2, torch.arange(6) // 3
    for x in ((left, right), {"right": right, "left": left}):
        torch.testing.assert_close(compute_features(Two(), [(x, y, group)]).x, left - right)


def test_half_precision_net_gives_float32():
    net = make_net().to(torch.bfloat16)
    batches = [(x.to(torch.bfloat16), y, group) for x, y, group in make_loader()]
    assert compute_features(net, batches).x.dtype == torch.float32


def test_interrupted_pass_goes_on(tmp_path):
    loader = make_loader()
    with pytest.raises(StopError):
        compute_features(Counting(), stopping(loader, 3), cache=tmp_path)
    Counting.seen = 0
    found = compute_features(Counting(), loader, cache=tmp_path)
    assert Counting.seen == 16 + 100 - 3 * 16  # the first batch again, to compare, and those that were missing
    torch.testing.assert_close(found.x, compute_features(Counting(), loader).x)
    Counting.seen = 0
    compute_features(Counting(), loader, cache=tmp_path)
    assert Counting.seen == 16


KILLED = """
import sys, time, torch
from torch import nn
from fairalm.nn.features import compute_features

def slowly():
    for i in range(1000):
        time.sleep(0.01)
        yield torch.full((4, 8), float(i)), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1])

compute_features(nn.Sequential(nn.Identity(), nn.Linear(8, 1)), slowly(), cache=sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is of POSIX")
def test_killed_process_leaves_whole_chunks(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    while len(list(tmp_path.glob("0*.safetensors"))) < 5:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    written = len(list(tmp_path.glob("0*.safetensors")))
    assert 5 <= written < 1000
    y, group = torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1])
    batches = [(torch.full((4, 8), float(i)), y, group) for i in range(written + 3)]
    found = compute_features(nn.Sequential(nn.Identity(), nn.Linear(8, 1)), batches, cache=tmp_path)
    torch.testing.assert_close(found.x, torch.cat([x for x, _, _ in batches]))


def test_cache_of_something_else_is_refused(tmp_path):
    compute_features(make_net(), make_loader(), cache=tmp_path)
    with pytest.raises(InputError, match=r"holds features of another net: choose another `cache` folder"):
        compute_features(make_net(seed=1), make_loader(), cache=tmp_path)
    with pytest.raises(InputError, match="other data"):
        compute_features(make_net(), make_loader(seed=1), cache=tmp_path)
    with pytest.raises(InputError, match="other data"):
        compute_features(make_net(), make_loader(batch_size=20), cache=tmp_path)


def test_new_head_keeps_the_cache(tmp_path):
    net = make_net()
    compute_features(net, make_loader(), cache=tmp_path)
    nn.init.zeros_(net[2].weight)
    compute_features(net, make_loader(), cache=tmp_path)


def test_net_whose_code_changed_is_refused(tmp_path):
    compute_features(Counting(), make_loader(), cache=tmp_path)
    with pytest.raises(InputError, match="the same weights give other features"):
        compute_features(Counting(shift=0.1), make_loader(), cache=tmp_path)


def test_damaged_chunk_is_named(tmp_path):
    compute_features(make_net(), make_loader(), cache=tmp_path)
    chunk = tmp_path / "000002.safetensors"
    chunk.write_bytes(chunk.read_bytes()[:50])
    with pytest.raises(InputError, match=r"000002\.safetensors is not a file of features"):
        compute_features(make_net(), make_loader(), cache=tmp_path)


def test_cache_must_be_a_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="must be a folder"):
        compute_features(make_net(), make_loader(), cache=tmp_path / "file")


def test_shuffled_loader_is_refused_before_the_net_runs(tmp_path):
    with pytest.raises(InputError, match="shuffle=False"):
        compute_features(make_net(), make_loader(shuffle=True), cache=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([], "empty"),
        ("text", "batches"),
        ([(torch.randn(2, 1, 8, 8), torch.tensor([0, 1]))], r"must be \(x, y, group\); got 2 items"),
        (
            [(torch.randn(2, 1, 8, 8), torch.tensor([0, 2]), torch.tensor([0, 1]))],
            r"Labels must be 0 or 1; got \[0, 2\]",
        ),
        ([(torch.randn(2, 1, 8, 8), torch.tensor([0, 1]), torch.tensor([0.0, 1.0]))], "Groups must be integers"),
        ([(torch.randn(2, 1, 8, 8), torch.tensor([0, 1]), torch.tensor([0, -1]))], "Groups must be integers"),
        ([(torch.randn(2, 1, 8, 8), torch.tensor([0, 1]), torch.tensor([0]))], r"\(2,\) labels and \(1,\) groups"),
        ([(torch.randn(3, 1, 8, 8), torch.tensor([0, 1]), torch.tensor([0, 1]))], "one row of features per sample"),
        ([(torch.full((2, 1, 8, 8), np.nan), torch.tensor([0, 1]), torch.tensor([0, 1]))], "NaN"),
    ],
)
def test_bad_batches(batches, message):
    with pytest.raises(InputError, match=message):
        compute_features(make_net(), batches)


@pytest.mark.parametrize(
    ("x", "y", "group", "message"),
    [
        (torch.zeros(3, 2), np.array([0, 1]), np.array([0, 1]), r"one row per label \(2\); got \(3, 2\)"),
        (torch.zeros(2), np.array([0, 1]), np.array([0, 1]), "one row per label"),
        (torch.full((2, 1), np.inf), np.array([0, 1]), np.array([0, 1]), "infinite"),
        (torch.zeros(2, 1), np.array([0, 3]), np.array([0, 1]), "Labels must be 0 or 1"),
        (torch.zeros(2, 1), np.array([0, 1]), np.array(["a", "b"]), "Groups must be integers"),
    ],
)
def test_bad_features(x, y, group, message):
    with pytest.raises(InputError, match=message):
        Features(x, y, group)


def test_heads_are_found_or_asked_for():
    assert find_head(make_net()) == "2"
    assert find_head(nn.Linear(3, 1)) == ""
    two = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 2), "c": nn.Linear(2, 7)})
    assert find_head(two, "b") == "b"
    with pytest.raises(InputError, match=r"\('a', 'b'\): name it with `head`"):
        find_head(two)
    with pytest.raises(InputError, match="'c' has 7 outputs"):
        find_head(two, "c")
    with pytest.raises(InputError, match=r"no nn\.Linear named 'd'"):
        find_head(two, "d")
    with pytest.raises(InputError, match=r"None of the net's 1 nn\.Linear"):
        find_head(nn.Linear(3, 10))
    with pytest.raises(InputError, match=r"torch\.nn\.Module; got str"):
        find_head("net")


def test_progress_goes_to_stderr(capfd):
    compute_features(make_net(), make_loader(), progress=True)
    assert not capfd.readouterr().out
