"""A run that is killed, stopped or crashes, and goes on, ends as the one left alone: to the bit, on the CPU."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset, TensorDataset, WeightedRandomSampler  # noqa: E402

from fairalm import (  # noqa: E402
    AugmentedLagrangian,
    EqualizedOdds,
    EqualOpportunity,
    FairALM,
    InputError,
    Unconstrained,
)
from fairalm.nn.adversarial import Adversarial  # noqa: E402
from fairalm.nn.loss import ConstrainedLoss  # noqa: E402
from fairalm.nn.trainer import Trainer  # noqa: E402

SCRIPT = Path(__file__).with_name("run_trainer.py")
KILLS = 12


def start(*arguments):
    """The script in a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def checkpoint(folder):
    return torch.load(folder / "checkpoint.pt", weights_only=True)


def is_same(one, other):
    """Equal to the bit, all the way down."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other or (one != one and other != other)


def assert_same_end(one, other):
    ends = checkpoint(one), checkpoint(other)
    for part in ("step", "history", "model", "optimizer", "scheduler", "criterion", "backward"):
        assert is_same(ends[0][part], ends[1][part]), f"{part} differs"
    for file in ("model.pt", "history.json"):
        assert (one / file).read_bytes() == (other / file).read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_killed_at_random_moments(tmp_path):
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    with start() as server:
        assert server.stdout.readline() == "ready\n"

        def begin(folder):
            """Fork a run; its process id, once training starts. The two lines may come in either order."""
            print(folder, file=server.stdin, flush=True)
            lines = {server.stdout.readline().strip() for _ in range(2)}
            return int((lines - {"go"}).pop())

        begin(alone)
        seconds = float(server.stdout.readline())
        assert server.stdout.readline() == "ended\n"

        seed = random.SystemRandom().randrange(10**6)
        rng = random.Random(seed)
        steps, halves = [], 0
        for _ in range(KILLS):
            child = begin(killed)
            time.sleep(rng.uniform(0, 1.5 * seconds / KILLS))
            with contextlib.suppress(ProcessLookupError):  # it may have come to its end on a machine that got faster
                os.kill(child, signal.SIGKILL)
            while server.stdout.readline() != "ended\n":
                pass
            halves += len(list(killed.glob(".checkpoint.pt.*")))
            steps.append(checkpoint(killed)["step"] if (killed / "checkpoint.pt").exists() else 0)
        server.stdin.close()
    with start(killed) as last:  # in an interpreter of its own
        assert last.wait() == 0
    total = checkpoint(alone)["step"]
    said = f"seed {seed}: killed at steps {steps} of {total}, {halves} times in the middle of a checkpoint"
    assert sum(0 < step < total for step in steps) > KILLS / 2, said
    assert len(set(steps)) > KILLS / 4, said
    try:
        assert_same_end(alone, killed)
    except AssertionError as error:
        raise AssertionError(f"{error} ({said})") from error
    assert not list(killed.glob(".checkpoint.pt.*"))


class Noisy(Dataset):
    """Draws from all three global sources of random numbers."""

    def __init__(self, n):
        draw = torch.Generator().manual_seed(n)
        self.y = torch.randint(2, (n,), generator=draw).float()
        self.group = torch.randint(2, (n,), generator=draw)
        self.x = torch.randn(n, 3, generator=draw) + self.y[:, None] * (1 + self.group[:, None])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        noise = torch.randn(3) + np.random.normal() + random.random()  # noqa: NPY002
        return self.x[i] + 0.1 * noise, self.y[i], self.group[i]


class Crash(Exception):
    pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3))
        self.head = nn.Linear(8, 1)
        self.left = None  # forward passes until it crashes

    def forward(self, x):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Crash
        return self.head(self.body(x))


def shuffled(n=90, batch_size=16, **settings):
    return DataLoader(Noisy(n), batch_size, shuffle=True, **settings)


def own_generator():
    return shuffled(generator=torch.Generator().manual_seed(5))


def two_workers():
    return shuffled(num_workers=2, multiprocessing_context="fork")


class Slow(Noisy):
    def __getitem__(self, i):
        time.sleep(0.01)
        return super().__getitem__(i)


def slow_workers():
    return DataLoader(Slow(90), 16, shuffle=True, num_workers=2, multiprocessing_context="fork")


def with_replacement():
    draw = torch.Generator().manual_seed(3)
    sampler = WeightedRandomSampler(torch.arange(90) + 1.0, 90, generator=draw)
    return DataLoader(Noisy(90), 16, sampler=sampler)


def run(folder, *, loader=shuffled, dual=None, crash=None, resume=True, rule=None, adam=False, lr=0.05, **settings):
    """One run; its trainer. With `crash`, after so many forward passes it raises."""
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    model = Net()
    model.left = crash
    if adam:
        optimizer = torch.optim.Adam(model.parameters(), lr)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9)
    criterion = ConstrainedLoss(
        nn.BCEWithLogitsLoss(reduction="none"),
        EqualizedOdds(),
        rule or AugmentedLagrangian(eta=0.1),
        n_groups=2,
        window=settings.pop("window", 4),
        dual_from="observe" if settings.pop("observe", dual is not None) else "forward",
    )
    if settings.pop("scheduler", False):
        settings["scheduler"] = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    if settings.pop("adversary", False):
        settings["backward"] = Adversarial(EqualizedOdds(), n_groups=2)
    if "head_epochs" in settings:
        settings["head"] = model.head
    trainer = Trainer(model, optimizer, criterion, **{"epochs": 3, "checkpoint_every": 2, "folder": folder, **settings})
    dual_loader = None if dual is None else shuffled(40, dual)
    trainer.fit(loader(), shuffled(50), dual_loader=dual_loader, resume=resume)
    return trainer


SETTINGS = {
    "plain": {},
    "best": {"adam": True, "scheduler": True, "choose": "best"},
    "generator": {"loader": own_generator},
    "replacement": {"loader": with_replacement, "checkpoint_every": 1},
    "workers": {"loader": two_workers},
    "list": {"loader": lambda: list(DataLoader(Noisy(90), 16))},
    "accumulate": {"accumulate": 4, "inner_steps": 2, "checkpoint_every": 1},
    "inner steps": {"inner_steps": 5, "window": 0, "rule": FairALM(eta=0.1, eta_beta=0.01)},
    "observe": {"inner_steps": 3, "observe": True},
    "held-out": {"dual": 16, "inner_steps": 2},
    "held-out, one batch": {"dual": 40, "adam": True, "loader": own_generator, "checkpoint_every": 1},
    "adversary": {"adversary": True, "rule": Unconstrained(), "accumulate": 2, "checkpoint_every": 1},
    "head first": {"head_epochs": 1},
    "head longer": {"head_epochs": 2, "checkpoint_every": None},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_crashed_again_and_again(settings, tmp_path):
    alone, crashed = tmp_path / "alone", tmp_path / "crashed"
    run(alone, **settings)
    crashes = 0
    for passes in (1, 4, 9, 6, 3, 11, 5, 8):  # forward passes until the next crash, some of them in validation
        try:
            run(crashed, crash=passes, **settings)
        except Crash:
            crashes += 1
    assert crashes >= 3
    run(crashed, **settings)
    assert_same_end(alone, crashed)


def test_ctrl_c_loses_nothing(tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        alone, stopped = tmp_path / "alone", tmp_path / "stopped"
        run(alone, checkpoint_every=None)
        loader = shuffled()
        batches = iter(range(10**6))
        collate = loader.collate_fn

        def interrupted(rows):
            if next(batches) == 9:  # the tenth batch: the second epoch's fourth
                signal.raise_signal(signal.SIGINT)
            return collate(rows)

        loader.collate_fn = interrupted
        with pytest.raises(KeyboardInterrupt):
            run(stopped, loader=lambda: loader, checkpoint_every=None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert checkpoint(stopped)["step"] == 10
        run(stopped, checkpoint_every=None)
        assert_same_end(alone, stopped)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_ctrl_c_in_a_terminal_reaches_the_workers_too(tmp_path):
    """As a terminal does it: to the whole process group, so that the workers end and the trainer waits in vain."""
    code = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
sys.path.insert(0, {str(SCRIPT.parent)!r})
import test_resume
test_resume.run({str(tmp_path / "stopped")!r}, loader=test_resume.slow_workers, checkpoint_every=1)
"""
    stopped, alone = tmp_path / "stopped", tmp_path / "alone"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stderr=subprocess.PIPE, text=True)
    with process:
        while not (stopped / "checkpoint.pt").exists() or checkpoint(stopped)["step"] < 8:  # 6 steps an epoch
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate()[1]
    assert "raise KeyboardInterrupt" in said
    run(stopped, loader=slow_workers, checkpoint_every=1)
    run(alone, loader=slow_workers, checkpoint_every=1)
    assert_same_end(alone, stopped)


def test_more_epochs_later(tmp_path):
    run(tmp_path / "three")
    run(tmp_path / "two", epochs=2)
    longer = run(tmp_path / "two", epochs=3)
    assert_same_end(tmp_path / "three", tmp_path / "two")
    again = run(tmp_path / "two", epochs=3)  # nothing left to do
    pd.testing.assert_frame_equal(longer.history, again.history, check_exact=True)
    assert is_same(longer.model.state_dict(), again.model.state_dict())


OTHERS = {
    "window": ({"window": 5}, "criterion.window is 4 in the checkpoint of .* and 5 here"),
    "rule": ({"rule": FairALM()}, "criterion.method is AugmentedLagrangian.* and FairALM"),
    "lr": ({"lr": 0.1}, "optimizer.lr is 0.05 .* and 0.1 here"),
    "optimizer": ({"adam": True}, "optimizer is SGD .* and Adam here"),
    "inner_steps": ({"inner_steps": 2}, "inner_steps is 1"),
    "head": ({"head_epochs": 1}, "head_epochs is 0"),
    "backward": ({"adversary": True}, "backward is NoneType .* and Adversarial here"),
    "choose": ({"choose": "best"}, "choose is absent .* and given here"),
    "scheduler": ({"scheduler": True}, "scheduler is NoneType .* and StepLR"),
    "data": ({"loader": lambda: shuffled(80)}, "train_loader is of 6 batches .* and of 5 batches here"),
    "dual": ({"dual": 16}, "criterion.dual_from is forward|dual_loader is absent"),
    "epochs": ({"epochs": 1}, "has 3 finished epochs"),
    "resume": ({"resume": False}, "holds a run already: pass resume=True"),
}


@pytest.mark.parametrize(("settings", "said"), OTHERS.values(), ids=OTHERS)
def test_another_run_is_refused_and_nothing_is_lost(settings, said, tmp_path):
    run(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=said):
        run(tmp_path, **settings)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_another_model_is_refused(tmp_path):
    run(tmp_path)
    model = nn.Linear(3, 1)
    criterion = ConstrainedLoss(nn.BCEWithLogitsLoss(reduction="none"), EqualOpportunity(), FairALM(), n_groups=2)
    trainer = Trainer(
        model, torch.optim.SGD(model.parameters(), 0.05, momentum=0.9), criterion, epochs=3, folder=tmp_path
    )
    before = model.weight.clone()
    with pytest.raises(InputError, match="in the checkpoint of"):
        trainer.fit(shuffled(), resume=True)
    assert torch.equal(model.weight, before)


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04" + b"\0" * 100, "cut", "other"])
def test_what_is_no_checkpoint_is_refused(content, tmp_path):
    run(tmp_path, epochs=1)
    file = tmp_path / "checkpoint.pt"
    if content == "cut":
        file.write_bytes(file.read_bytes()[:-500])
    elif content == "other":
        torch.save([1, 2], file)
    else:
        file.write_bytes(content)
    with pytest.raises(InputError, match=r"checkpoint\.pt cannot be read as a checkpoint of a Trainer"):
        run(tmp_path, epochs=1)


@pytest.mark.parametrize(
    ("part", "value"),
    [("step", None), ("history", {}), ("history", ["row"]), ("model", "weights"), ("optimizer", {}), ("ranks", [{}])],
)
def test_a_checkpoint_without_its_parts_is_refused(part, value, tmp_path):
    run(tmp_path, epochs=1)
    content = checkpoint(tmp_path)
    torch.save({**content, part: value}, tmp_path / "checkpoint.pt")
    with pytest.raises(InputError, match=r"checkpoint\.pt cannot be read as a checkpoint of a Trainer"):
        run(tmp_path, epochs=2)


def test_a_shorter_loader_is_refused(tmp_path):
    class Endless(list):
        def __len__(self):
            return 6

    batches = list(DataLoader(Noisy(90), 16))
    with pytest.raises(Crash):
        run(tmp_path, loader=lambda: Endless(batches), crash=5)
    with pytest.raises(InputError, match="`train_loader` ended after 2 batches"):
        run(tmp_path, loader=lambda: Endless(batches[:2]))


def test_state_that_cannot_be_read_back_is_refused_before_training(tmp_path):
    class Odd(nn.Linear):
        def get_extra_state(self):
            return Path("x")

        def set_extra_state(self, state):
            pass

    model = Odd(3, 1)
    criterion = ConstrainedLoss(nn.BCEWithLogitsLoss(reduction="none"), EqualOpportunity(), FairALM(), n_groups=2)
    trainer = Trainer(model, torch.optim.SGD(model.parameters(), 0.05), criterion, epochs=1, folder=tmp_path)
    before = model.weight.clone()
    with pytest.raises(InputError, match="cannot be read"):
        trainer.fit(DataLoader(TensorDataset(torch.randn(8, 3), torch.ones(8), torch.zeros(8).long())))
    assert torch.equal(model.weight, before)
