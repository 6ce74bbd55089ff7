"""The trainer against loops written out by hand, its figures against fairalm.measures, and what it refuses."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from fairalm import (  # noqa: E402
    AugmentedLagrangian,
    Constraint,
    DemographicParity,
    EqualOpportunity,
    FairALM,
    InputError,
    nvp,
)
from fairalm.cells import Event  # noqa: E402
from fairalm.measures import deo, error  # noqa: E402
from fairalm.nn.loss import ConstrainedLoss  # noqa: E402
from fairalm.nn.trainer import Trainer  # noqa: E402


def rows(n=96, seed=0, classes=2):
    rng = torch.Generator().manual_seed(seed)
    y, group = torch.randint(classes, (n,), generator=rng), torch.randint(2, (n,), generator=rng)
    x = torch.randn(n, 3, generator=rng) + y[:, None] * (1.0 + group[:, None])
    return TensorDataset(x, y, group)


def loader(n=96, seed=0, batch_size=16, classes=2):
    return DataLoader(rows(n, seed, classes), batch_size)


def make(model=None, *, lr=0.1, constraint=None, rule=None, dual_from="forward", window=0):
    torch.manual_seed(0)
    model = nn.Linear(3, 2) if model is None else model()
    criterion = ConstrainedLoss(
        nn.CrossEntropyLoss(reduction="none"),
        constraint or EqualOpportunity(),
        rule or FairALM(eta=0.2, eta_beta=0.05),
        n_groups=2,
        window=window,
        dual_from=dual_from,
    )
    return model, torch.optim.SGD(model.parameters(), lr, momentum=0.9), criterion


def batch_norm_net(classes=2):
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, classes))


@pytest.mark.parametrize("dual_from", ["forward", "observe"])
def test_follows_a_loop_by_hand(dual_from):
    """Batch norm and dropout, three primal steps per dual step, seven batches per epoch, two batches per step."""
    model, optimizer, criterion = make(batch_norm_net, dual_from=dual_from, window=5)
    trainer = Trainer(model, optimizer, criterion, epochs=4, inner_steps=3, accumulate=2)
    trainer.fit(loader(7 * 16), loader(seed=1))  # measuring must not matter

    by_hand, optimizer, its_criterion = make(batch_norm_net, dual_from=dual_from, window=5)
    step = 0
    for _ in range(4):
        batches = list(loader(7 * 16))
        for pair in (batches[:2], batches[2:4], batches[4:6], batches[6:]):
            by_hand.train()
            optimizer.zero_grad()
            for x, y, group in pair:
                (its_criterion(by_hand(x), y, group) / len(pair)).backward()
            optimizer.step()
            step += 1
            if step % 3 == 0:
                if dual_from == "observe":
                    by_hand.eval()
                    for x, y, group in pair:
                        its_criterion.observe(by_hand(x), y, group)
                its_criterion.step()
    assert criterion.t == its_criterion.t == 1 + 16 // 3
    assert torch.equal(criterion.dual, its_criterion.dual)
    assert abs(criterion.dual).max() > 0.01
    for name, value in by_hand.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name
    assert not model.training


def test_held_out_data_moves_the_multipliers():
    model, optimizer, criterion = make(dual_from="observe", lr=1e-9)  # a net that stays put
    with torch.no_grad():
        (x, y, group), (x2, y2, group2) = loader(48, seed=1, batch_size=24)
        gaps = []
        for logits, label, code in ((model(x), y, group), (model(x2), y2, group2)):
            wrong = torch.sigmoid(logits[:, 0] - logits[:, 1])
            gaps.append(float(wrong[(label == 1) & (code == 0)].mean() - wrong[(label == 1) & (code == 1)].mean()))
    Trainer(model, optimizer, criterion, epochs=1).fit(loader(48), dual_loader=loader(48, seed=1, batch_size=24))
    eta = [0.2 * 1.05**t for t in range(3)]
    expected = eta[0] * gaps[0] + eta[1] * gaps[1] + eta[2] * gaps[0]  # three steps over two batches
    assert criterion.dual.item() == pytest.approx(expected, abs=1e-5)


def test_accumulated_batches_are_one_batch_for_the_plain_loss():
    """Without a criterion's pull: the mean of the batches' means, whatever their number at the end of the epoch."""
    from fairalm import Unconstrained

    one, optimizer, criterion = make(rule=Unconstrained())
    Trainer(one, optimizer, criterion, epochs=2).fit(loader(80, batch_size=32))  # 32, 32, 16
    other, optimizer, criterion = make(rule=Unconstrained())
    Trainer(other, optimizer, criterion, epochs=2, accumulate=4).fit(loader(80, batch_size=8))
    torch.testing.assert_close(one.weight, other.weight, rtol=0, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_figures_are_those_of_the_measures(classes, tmp_path):
    model, optimizer, criterion = make(lambda: batch_norm_net(classes))
    valid = loader(60, seed=2, classes=classes)
    history = Trainer(model, optimizer, criterion, epochs=3, folder=tmp_path).fit(loader(classes=classes), valid)
    x, y, group = valid.dataset.tensors
    predicted = (torch.softmax(model(x), 1)[:, 1] > 0.5).int().numpy()
    target = (y == 1).int().numpy()
    wanted = {
        "error": error(target, predicted),
        "deo": deo(target, predicted, sensitive_features=group.numpy()),
    }
    for name, measure in wanted.items():
        got = [history.iloc[-1][f"valid_{name}{end}"] for end in ("", "_low", "_high")]
        assert got == [measure.value, measure.low, measure.high]
    assert history.iloc[-1]["dual_0"] == criterion.dual.item()
    assert history["epoch"].tolist() == [0, 1, 2]
    kept = json.loads((tmp_path / "history.json").read_text())
    assert kept == {name: column.tolist() for name, column in history.items()}


def test_training_figures_are_marked_and_have_no_interval():
    model, optimizer, criterion = make(lr=1e-12)
    history = Trainer(model, optimizer, criterion, epochs=1).fit(loader())
    x, y, group = rows().tensors
    logits = model(x)
    predicted = logits.argmax(1).numpy()
    assert history["train_error"][0] == error(y.numpy(), predicted).value
    assert history["train_deo"][0] == deo(y.numpy(), predicted, sensitive_features=group.numpy()).value
    assert history["train_loss"][0] == pytest.approx(nn.functional.cross_entropy(logits, y).item(), rel=1e-5)
    assert list(history) == ["epoch", "step", "train_loss", "train_error", "train_deo", "dual_0"]


def test_a_group_nobody_is_in_gives_no_figure():
    model, optimizer, criterion = make()
    x, y, _ = rows().tensors
    only = DataLoader(TensorDataset(x, y, torch.zeros(len(y), dtype=torch.long)), 16)
    history = Trainer(model, optimizer, criterion, epochs=1).fit(loader(), only)
    assert np.isnan(history["valid_deo"][0])
    assert history["valid_error"][0] >= 0


def test_one_column_of_logits_and_a_scheduler():
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loss = nn.BCEWithLogitsLoss(reduction="none")
    criterion = ConstrainedLoss(loss, DemographicParity(), AugmentedLagrangian(eta=0.1), n_groups=2)
    x, y, group = rows().tensors
    data = DataLoader(TensorDataset(x, y.float(), group), 16)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    history = Trainer(model, optimizer, criterion, epochs=5, scheduler=scheduler).fit(data, data)
    assert optimizer.param_groups[0]["lr"] == 0.1 / 4
    assert history["valid_error"].iloc[-1] < 0.2
    assert {"valid_ddp", "valid_ddp_low", "valid_ddp_high"} <= set(history)


def test_a_constraint_of_ones_own(tmp_path):
    """As docs/how-to/extending.md has it: in the history, and in the choice of the epoch."""

    @dataclass(frozen=True, kw_only=True)
    class ErrorAndOpportunity(Constraint):
        def events(self, y):
            return (Event("all"), Event("y=target", mask=y))

    model, optimizer, criterion = make(constraint=ErrorAndOpportunity(tol=0.1))
    choose = nvp(gap="error_and_opportunity")
    trainer = Trainer(model, optimizer, criterion, epochs=3, choose=choose, folder=tmp_path)
    history = trainer.fit(loader(), loader(seed=1))
    x, y, group = loader(seed=1).dataset.tensors
    wrong = (model(x).argmax(1) != y).float()
    gaps = [wrong[event & (group == 0)].mean() - wrong[event & (group == 1)].mean() for event in (y >= 0, y == 1)]
    assert history["valid_error_and_opportunity"][trainer.chosen] == pytest.approx(max(abs(float(gap)) for gap in gaps))
    assert "train_error_and_opportunity" in history


class Recorder:
    """A loader that notes the model's weights, statistics and flags at the start of each epoch."""

    def __init__(self, model):
        self.model, self.seen = model, []

    def __iter__(self):
        self.seen.append({name: value.clone() for name, value in self.model.state_dict().items()})
        return iter(loader())


def test_the_head_is_trained_first():
    model, optimizer, criterion = make(batch_norm_net)
    model[0].bias.requires_grad_(False)  # frozen by the user: stays so
    data = Recorder(model)
    trainer = Trainer(model, optimizer, criterion, epochs=4, head=model[4], head_epochs=2)
    trainer.fit(data)
    first, _, third, fourth = data.seen
    for name in first:
        moved = not torch.equal(first[name], third[name])
        assert moved == name.startswith("4."), name
        moved = not torch.equal(third[name], fourth[name])
        assert moved == (name != "0.bias"), name
    assert [value.requires_grad for value in model.parameters()] == [True, False, True, True, True, True]


def test_flags_are_back_after_an_error():
    model, optimizer, criterion = make(batch_norm_net)
    trainer = Trainer(model, optimizer, criterion, epochs=1, head=model[4], head_epochs=1)
    with pytest.raises(InputError, match="got 2 items"):
        trainer.fit([(torch.zeros(4, 3), torch.zeros(4))])
    assert all(value.requires_grad for value in model.parameters())


def test_best_epoch(tmp_path):
    model, optimizer, criterion = make(constraint=EqualOpportunity(tol=0.1), lr=1.0)
    valid = loader(400, seed=2)
    trainer = Trainer(model, optimizer, criterion, epochs=8, choose="best", folder=tmp_path)
    history = trainer.fit(loader(), valid)
    within = history[history["valid_deo"] <= 0.1]
    assert 0 < len(within) < 8
    assert history["valid_error"][trainer.chosen] == within["valid_error"].min()
    assert trainer.chosen != 7
    x, y, _ = valid.dataset.tensors
    assert error(y.numpy(), model(x).argmax(1).numpy()).value == history["valid_error"][trainer.chosen]
    assert len(list((tmp_path / "weights").iterdir())) == 8
    kept = torch.load(tmp_path / "model.pt", weights_only=True)
    assert torch.equal(kept["weight"], model.weight)


def test_best_epoch_without_one_within_the_tolerance(tmp_path):
    model, optimizer, criterion = make(constraint=EqualOpportunity(tol=0.0), lr=0.3)
    trainer = Trainer(model, optimizer, criterion, epochs=4, choose="best", folder=tmp_path)
    history = trainer.fit(loader(), loader(401, seed=2))
    assert history["valid_deo"].min() > 0
    assert history["valid_deo"][trainer.chosen] == history["valid_deo"].min()


def test_a_rule_of_ones_own_chooses(tmp_path):
    model, optimizer, criterion = make()
    data = Recorder(model)
    trainer = Trainer(
        model, optimizer, criterion, epochs=3, choose=lambda history: history["step"].argmin(), folder=tmp_path
    )
    trainer.fit(data)
    assert trainer.chosen == 0
    assert torch.equal(model.weight, data.seen[1]["weight"])


def test_nvp_chooses_the_epoch(tmp_path):
    """The first epochs predict one class, whose bias starts high, with a gap of 0."""

    def one_class_at_first():
        model = nn.Linear(3, 2)
        with torch.no_grad():
            model.bias.copy_(torch.tensor([9.0, 0.0]))
        return model

    valid = loader(400, seed=2)
    chosen = {}
    for leave_out in (False, True):
        model, optimizer, criterion = make(one_class_at_first, lr=0.02)
        rule = nvp(0.4, leave_out_constants=leave_out)
        folder = tmp_path / str(leave_out)
        trainer = Trainer(model, optimizer, criterion, epochs=8, choose=rule, folder=folder)
        history = trainer.fit(loader(), valid)
        chosen[leave_out] = trainer.chosen
        x, y, group = valid.dataset.tensors
        predicted = model(x).argmax(1).numpy()
        assert deo(y.numpy(), predicted, sensitive_features=group.numpy()).value == history["valid_deo"][trainer.chosen]
        assert predicted.mean() == history["valid_selection"][trainer.chosen]
    assert history["valid_selection"][0] == 0
    assert chosen[False] == 0
    varied = history[history["valid_selection"] > 0]
    shortlist = varied[1 - varied["valid_error"] >= 0.4 * (1 - varied["valid_error"].min())]
    assert len(shortlist) > 1
    assert chosen[True] == shortlist["valid_deo"].idxmin()


def test_nvp_is_checked_before_training(tmp_path):
    model, optimizer, criterion = make(dual_from="observe")
    trainer = Trainer(model, optimizer, criterion, epochs=2, choose=nvp(gap="ddp"), folder=tmp_path / "run")
    with pytest.raises(InputError, match="compares ddp; the history has error, deo: pass nvp"):
        trainer.fit(loader(), loader())
    trainer.choose = nvp()
    with pytest.raises(InputError, match="compares measures on validation data: pass valid_loader"):
        trainer.fit(loader())
    held_out = loader(seed=1)
    with pytest.raises(InputError, match="`dual_loader` is `valid_loader`, by which the epoch is chosen"):
        trainer.fit(loader(), held_out, dual_loader=held_out)
    assert not (tmp_path / "run").exists()
    trainer.fit(loader(), loader(seed=2), dual_loader=held_out)
    assert trainer.chosen in (0, 1)


@pytest.mark.parametrize("answer", [3, -1, None, 0.5])
def test_a_wrong_choice_is_said_and_can_be_mended(answer, tmp_path):
    model, optimizer, criterion = make()
    trainer = Trainer(model, optimizer, criterion, epochs=3, choose=lambda history: answer, folder=tmp_path)
    with pytest.raises(InputError, match=r"`choose` must return a row of the history, 0\.\.2; got"):
        trainer.fit(loader())
    trainer.choose = lambda history: 1
    trainer.fit(loader(), resume=True)
    assert trainer.chosen == 1


def test_silent_unless_asked(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # a bar is drawn only where it can be
    model, optimizer, criterion = make()
    Trainer(model, optimizer, criterion, epochs=1).fit(loader())
    assert capfd.readouterr() == ("", "")
    Trainer(model, optimizer, criterion, epochs=2, progress=True).fit(loader(), loader())
    out, err = capfd.readouterr()
    assert out == ""
    assert "epoch 1: error" in err


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for epochs in (2, 3):
        model, optimizer, criterion = make()
        trainer = Trainer(model, optimizer, criterion, epochs=epochs, folder=tmp_path, tensorboard=True)
        history = trainer.fit(loader(), loader(seed=1), resume=True)
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    points = events.Scalars("valid/deo")
    assert [point.step for point in points] == [0, 1, 2]
    assert [point.value for point in points] == pytest.approx(history["valid_deo"].tolist(), rel=1e-6)


def test_without_tensorboard_the_error_gives_the_command(tmp_path):
    code = f"""
import sys
sys.modules["tensorboard"] = None
import torch
from torch import nn
from fairalm import EqualOpportunity, FairALM
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.trainer import Trainer
model = nn.Linear(3, 2)
criterion = ConstrainedLoss(nn.CrossEntropyLoss(reduction="none"), EqualOpportunity(), FairALM(), n_groups=2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
Trainer(model, optimizer, criterion, epochs=1, folder={str(tmp_path / "run")!r}, tensorboard=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "fairalm[tensorboard]" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epochs": 0}, "`epochs` must be an integer, 1 or more; got 0"),
        ({"epochs": 2.5}, "`epochs` must be an integer"),
        ({"epochs": True}, "`epochs` must be an integer"),
        ({"inner_steps": 0}, "`inner_steps` must be"),
        ({"accumulate": -1}, "`accumulate` must be"),
        ({"checkpoint_every": 0, "folder": "x"}, "`checkpoint_every` must be"),
        ({"checkpoint_every": 5}, "`checkpoint_every` needs a place for its files: pass folder"),
        ({"choose": "best"}, "`choose` needs a place"),
        ({"choose": "first", "folder": "x"}, "`choose` must be 'best', a callable or None; got 'first'"),
        ({"tensorboard": True}, "`tensorboard` needs a place"),
        ({"head_epochs": 2}, "go together"),
        ({"head": nn.Linear(2, 2), "head_epochs": 2}, "must be a part of the model"),
        ({"model": "net"}, "`model` must be of type Module; got str"),
        ({"optimizer": None}, "`optimizer` must be of type Optimizer; got NoneType"),
        ({"criterion": nn.CrossEntropyLoss()}, "`criterion` must be of type ConstrainedLoss; got CrossEntropyLoss"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_settings_refused(settings, said):
    model, optimizer, criterion = make()
    settings = {"model": model, "optimizer": optimizer, "criterion": criterion, "epochs": 1, **settings}
    with pytest.raises(InputError, match=said):
        Trainer(**settings)


def test_a_scheduler_that_waits_for_a_figure_is_refused():
    model, optimizer, criterion = make()
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    with pytest.raises(InputError, match="ReduceLROnPlateau"):
        Trainer(model, optimizer, criterion, epochs=1, scheduler=scheduler)


X, Y, GROUP = rows(16).tensors


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        ([], "`train_loader` gave no batch in pass 1"),
        ([(X, Y)], r"`train_loader` must yield \(x, y, group\); got 2 items"),
        ([X], r"`train_loader` must yield \(x, y, group\); got a Tensor"),
        ([{"x": X}], "got a dict"),
        ([(X, Y, GROUP.numpy())], "must yield tensors; got a ndarray for group"),
        ([(X, Y, GROUP + 1)], r"group must lie in 0\.\.1"),
        ([(X, Y, GROUP[:5])], "pass one label and one group per row"),
        ([(X, Y + 1, GROUP)], r"y must .*0\.\.1"),
        ([(X / 0, Y, GROUP)], "NaN"),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("place", ["train_loader", "valid_loader", "dual_loader"])
def test_batches_refused(batches, said, place):
    model, optimizer, criterion = make(dual_from="observe")
    loaders = {"train_loader": loader(32), place: batches}
    with pytest.raises(InputError, match=said.replace("train_loader", place)):
        Trainer(model, optimizer, criterion, epochs=1).fit(**loaders)


def test_fit_refuses():
    model, optimizer, criterion = make()
    trainer = Trainer(model, optimizer, criterion, epochs=2)
    with pytest.raises(InputError, match="`resume` needs the folder"):
        trainer.fit(loader(), resume=True)
    with pytest.raises(InputError, match="`dual_loader` is for a ConstrainedLoss with dual_from='observe'"):
        trainer.fit(loader(), dual_loader=loader())
    with pytest.raises(InputError, match=r"gave no batch in pass 2.*not a generator"):
        trainer.fit(iter(loader()))
    criterion.attach(optimizer)
    with pytest.raises(InputError, match="attached to the optimizer"):
        trainer.fit(loader())


def test_fit_refuses_a_model_that_gives_no_tensor():
    class Two(nn.Linear):
        def forward(self, x):
            return super().forward(x), x

    model, optimizer, criterion = make(lambda: Two(3, 2))
    with pytest.raises(InputError, match="must return a tensor of logits; got a tuple"):
        Trainer(model, optimizer, criterion, epochs=1).fit(loader())


def test_best_needs_validation_data_and_the_folder_must_be_one(tmp_path):
    model, optimizer, criterion = make()
    with pytest.raises(InputError, match="pass valid_loader"):
        Trainer(model, optimizer, criterion, epochs=2, choose="best", folder=tmp_path / "run").fit(loader())
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot be the run's folder"):
        Trainer(model, optimizer, criterion, epochs=2, folder=tmp_path / "file").fit(loader())
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_two_ranks(tmp_path, torchrun):
    """Two processes: a crash and a resume end to the bit as without; the first rank writes; the head comes first."""
    done = torchrun(Path(__file__).with_name("run_trainer_ranks.py"), tmp_path / "ranks")
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads((tmp_path / "ranks" / "said.json").read_text())
    for shared, people in (("shared False", 101), ("shared True", 102)):  # the sampler fills up to an even number
        ends = said[shared]
        assert ends["alone"] == ends["crashed"]
        assert ends["ranks"][0] == ends["ranks"][1]
        assert max(abs(value) for row in ends["alone"]["dual"] for value in row) > 0.01
        for value in ends["alone"]["history"]["valid_error"]:
            assert value * people == pytest.approx(round(value * people), abs=1e-9)
        assert ends["alone"]["sampler's epoch"] == 2
    whole, shared = (np.array(said[name]["alone"]["history"]["valid_error"]) for name in said)
    assert set((102 * shared - 101 * whole).round(6)) <= {0, 1}, "the ranks measured different nets"
