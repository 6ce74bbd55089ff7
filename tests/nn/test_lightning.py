"""Lightning's Trainer against the plain loop on the same batches; checkpoints; logs; precision."""

import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning.pytorch")
from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402
from lightning.pytorch.plugins.precision import MixedPrecision  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from fairalm import AugmentedLagrangian, EqualizedOdds, InputError  # noqa: E402
from fairalm.nn import ConstrainedLoss  # noqa: E402
from fairalm.nn.lightning import DualStepCallback  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*LeafSpec.*is deprecated:FutureWarning"),  # Lightning 2.6 on torch 2.13
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]
BATCHES = 10


def make_loader():
    rng = torch.Generator().manual_seed(0)
    n = 32 * BATCHES
    group = torch.randint(2, (n,), generator=rng)
    y = (torch.rand(n, generator=rng) < 0.25 + 0.35 * group).float()
    x = torch.stack([1.2 * y + torch.randn(n, generator=rng), group + torch.randn(n, generator=rng)], dim=1)
    return DataLoader(TensorDataset(x, y, group), batch_size=32)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        self.criterion = ConstrainedLoss(
            nn.BCEWithLogitsLoss(reduction="none"), EqualizedOdds(), AugmentedLagrangian(eta=0.5), n_groups=2, window=5
        )

    def training_step(self, batch, batch_idx):
        x, y, group = batch
        return self.criterion(self.net(x)[:, 0], y, group)

    def configure_optimizers(self):
        return torch.optim.Adam(self.net.parameters(), lr=0.02)


class Validated(Module):
    def validation_step(self, batch, batch_idx):
        self.training_step(batch, batch_idx)


def make_trainer(**settings):
    fixed = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return lightning.Trainer(**fixed, **{"callbacks": [DualStepCallback()], "enable_checkpointing": False, **settings})


def plain_loop(epochs, accumulate):
    module = Module()
    optimizer = module.configure_optimizers()
    module.criterion.attach(optimizer)
    for _ in range(epochs):
        for i, batch in enumerate(make_loader(), start=1):
            (module.training_step(batch, i) / accumulate).backward()
            if i % accumulate == 0 or i == BATCHES:
                optimizer.step()
                optimizer.zero_grad()
    return module


def assert_same(module, other):
    assert module.criterion.t == other.criterion.t
    assert abs(module.criterion.dual).max() > 0.01, "the multipliers must have moved for this to mean anything"
    for name, value in module.state_dict().items():
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(value, other.state_dict()[name], rtol=0, atol=0)


@pytest.mark.parametrize("accumulate", [1, 2, 4])
def test_same_as_the_plain_loop(accumulate):
    """Validation in between must not count."""
    module = Validated()
    make_trainer(max_epochs=3, accumulate_grad_batches=accumulate).fit(module, make_loader(), make_loader())
    assert_same(module, plain_loop(3, accumulate))
    assert module.criterion.t == 1 + 3 * -(-BATCHES // accumulate)


@pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists and is not empty")
def test_a_checkpoint_in_mid_training_is_taken_up_again(tmp_path):
    """Saved after the first of three passes: within one, Lightning does not find a plain loader's place again."""
    keep = ModelCheckpoint(tmp_path, save_on_train_epoch_end=True)
    settings = {"callbacks": [DualStepCallback(), keep], "enable_checkpointing": True}
    make_trainer(max_epochs=1, **settings).fit(Module(), make_loader())
    (path,) = tmp_path.glob("*.ckpt")
    module = Module()
    make_trainer(max_epochs=3, **settings).fit(module, make_loader(), ckpt_path=path)
    assert_same(module, plain_loop(3, 1))


def test_bfloat16():
    module = Module()
    make_trainer(max_epochs=1, precision="bf16-mixed").fit(module, make_loader())
    assert module.criterion.t == 1 + BATCHES


def test_a_step_that_the_scaler_skips_is_no_dual_step():
    module, steps = Module(), []
    make_optimizer = module.configure_optimizers

    def counted():
        optimizer = make_optimizer()
        optimizer.register_step_post_hook(lambda *_: steps.append(1))
        return optimizer

    module.configure_optimizers = counted
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=1000)
    make_trainer(max_epochs=1, plugins=[MixedPrecision("16-mixed", "cpu", scaler)]).fit(module, make_loader())
    assert 0 < len(steps) < BATCHES, "some must be skipped, and some not"
    assert module.criterion.t == 1 + len(steps)


def test_what_is_logged():
    module, trainer = Module(), make_trainer(max_steps=3)
    trainer.fit(module, make_loader())
    last, logged = module.criterion.last, trainer.logged_metrics
    assert float(logged["criterion/loss"]) == pytest.approx(float(last.loss))
    assert float(logged["criterion/lagrangian"]) == pytest.approx(float(last.lagrangian))
    for i in (0, 1):
        assert float(logged[f"criterion/gap_{i}"]) == pytest.approx(float(last.gap.flatten()[i]))
        assert float(logged[f"criterion/dual_{i}"]) == pytest.approx(float(last.dual.flatten()[i]))
    assert len(logged) == 6


def test_fitting_twice_steps_once_each():
    """The same callback and module under two trainers."""
    module, callback = Module(), DualStepCallback()
    for n in (1, 2):
        make_trainer(max_epochs=1, callbacks=[callback]).fit(module, make_loader())
        assert module.criterion.t == 1 + n * BATCHES


def test_observing_leaves_the_dual_step_to_the_module():
    module = Module()
    module.criterion.dual_from = "observe"
    make_trainer(max_epochs=1).fit(module, make_loader())
    assert module.criterion.t == 1


def test_modules_it_cannot_serve():
    module = Module()
    module.criterion = nn.Identity()
    with pytest.raises(InputError, match="Module has no ConstrainedLoss: set one as an attribute"):
        make_trainer(max_epochs=1).fit(module, make_loader())
    module = Module()
    module.automatic_optimization = False
    module.configure_optimizers = lambda: [torch.optim.SGD(module.net.parameters()) for _ in range(2)]
    with pytest.raises(InputError, match="Module has 2 optimisers"):
        make_trainer(max_epochs=1).fit(module, make_loader())


def test_fairalm_nn_needs_no_framework():
    frameworks = ("lightning", "pytorch_lightning", "transformers", "accelerate", "skorch")
    code = f"import sys, fairalm.nn; sys.exit([name for name in {frameworks} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


def test_a_missing_framework_is_named_with_the_command():
    code = """
import sys
for framework, extra in (("lightning", "lightning"), ("transformers", "huggingface")):
    sys.modules[framework] = None
    try:
        __import__(f"fairalm.nn.{extra}")
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert re.findall(r"pip install .*", done.stdout) == [
        'pip install "fairalm[lightning]".',
        'pip install "fairalm[huggingface]".',
    ], done.stderr
