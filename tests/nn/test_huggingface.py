"""Hugging Face's Trainer against the plain loop on the same batches; checkpoints; metrics; a real BERT."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
from torch import nn  # noqa: E402
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments  # noqa: E402

from fairalm import AugmentedLagrangian, EqualizedOdds, EqualOpportunity, FairALM, InputError  # noqa: E402
from fairalm.measures import deo  # noqa: E402
from fairalm.nn import ConstrainedLoss  # noqa: E402
from fairalm.nn.huggingface import ConstrainedTrainer  # noqa: E402

BATCH, BATCHES = 16, 10


def make_rows(seed=0):
    rng = np.random.default_rng(seed)
    n = BATCH * BATCHES
    group = rng.integers(2, size=n)
    y = (rng.random(n) < 0.25 + 0.35 * group).astype(int)
    x = np.stack([1.2 * y + rng.normal(size=n), group + rng.normal(size=n)], axis=1).astype(np.float32)
    return [{"x": x[i], "labels": int(y[i]), "group": int(group[i]), "unused": "text"} for i in range(n)]


class Net(nn.Module):
    """Takes any keyword, as many models of the library do: the Trainer then leaves scaling the loss to them."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, x, **kwargs):
        assert not kwargs, "the model must see neither label nor group"
        return {"logits": self.layers(x)}


def make_criterion():
    return ConstrainedLoss(
        nn.CrossEntropyLoss(reduction="none"), EqualizedOdds(), AugmentedLagrangian(eta=0.5), n_groups=2, window=5
    )


def make_trainer(folder, model=None, criterion=None, *, args=None, **settings):
    fixed = {"report_to": "none", "use_cpu": True, "disable_tqdm": True, "seed": 0, "max_grad_norm": 0.0}
    fixed |= {"learning_rate": 0.02, "lr_scheduler_type": "constant", "train_sampling_strategy": "sequential"}
    fixed |= {"per_device_train_batch_size": BATCH, "num_train_epochs": 3, "save_strategy": "no", **(args or {})}
    rows = {"train_dataset": make_rows(), "eval_dataset": make_rows(1)}
    criterion = make_criterion() if criterion is None else criterion
    model = Net() if model is None and "model_init" not in settings else model
    return ConstrainedTrainer(model, TrainingArguments(str(folder), **fixed), criterion=criterion, **rows | settings)


def plain_loop(accumulate):
    net, criterion, rows = Net(), make_criterion(), make_rows()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.02, weight_decay=0.0)
    criterion.attach(optimizer)
    for _ in range(3):
        for i in range(BATCHES):
            part = rows[i * BATCH : (i + 1) * BATCH]
            x = torch.tensor(np.stack([row["x"] for row in part]))
            y, group = (torch.tensor([row[name] for row in part]) for name in ("labels", "group"))
            together = min(accumulate, BATCHES - i // accumulate * accumulate)  # the last step of a pass may have fewer
            (criterion(net(x)["logits"], y, group) / together).backward()
            if (i + 1) % accumulate == 0 or i + 1 == BATCHES:
                optimizer.step()
                optimizer.zero_grad()
    return net, criterion


def assert_same(trainer, net, criterion):
    assert trainer.criterion.t == criterion.t
    assert abs(criterion.dual).max() > 0.01, "the multipliers must have moved for this to mean anything"
    torch.testing.assert_close(trainer.criterion.dual, criterion.dual, rtol=0, atol=1e-6)
    for ours, theirs in zip(trainer.model.parameters(), net.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("accumulate", [1, 2, 4])
def test_same_as_the_plain_loop(accumulate, tmp_path):
    """Evaluations in between must not count."""
    trainer = make_trainer(tmp_path, args={"gradient_accumulation_steps": accumulate, "eval_strategy": "epoch"})
    trainer.train()
    assert_same(trainer, *plain_loop(accumulate))
    assert trainer.criterion.t == 1 + 3 * -(-BATCHES // accumulate)


@pytest.mark.parametrize("resume", ["path", True])
def test_a_checkpoint_in_mid_training_is_taken_up_again(resume, tmp_path):
    args = {"save_strategy": "steps", "save_steps": 13}
    make_trainer(tmp_path, args={**args, "max_steps": 13}).train()
    trainer = make_trainer(tmp_path, args=args)
    trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-13") if resume == "path" else True)
    assert_same(trainer, *plain_loop(1))


def test_a_checkpoint_without_multipliers_is_refused(tmp_path):
    make_trainer(tmp_path, args={"save_strategy": "steps", "save_steps": 13, "max_steps": 13}).train()
    (tmp_path / "checkpoint-13" / "constrained_loss.pt").unlink()
    with pytest.raises(InputError, match=r"constrained_loss\.pt is missing"):
        make_trainer(tmp_path).train(resume_from_checkpoint=True)


def test_runs_with_model_init_start_alike(tmp_path):
    trainer = make_trainer(tmp_path, model_init=Net, args={"max_steps": 12})
    duals = []
    for _ in range(2):
        trainer.train()
        duals.append(trainer.criterion.dual.clone())
    assert abs(duals[0]).max() > 0
    torch.testing.assert_close(duals[0], duals[1], rtol=0, atol=0)


def test_losses_are_means_without_penalty_and_metrics_get_the_group(tmp_path):
    def compute_metrics(prediction):
        y, group = prediction.label_ids
        return {"deo": deo(y, prediction.predictions.argmax(1), sensitive_features=group).value}

    args = {"logging_steps": 1, "max_steps": 7, "per_device_eval_batch_size": 160}
    trainer = make_trainer(tmp_path, args=args, compute_metrics=compute_metrics)
    trainer.train()
    logged = trainer.state.log_history[6]
    last = trainer.criterion.last
    assert logged["loss"] == pytest.approx(float(last.loss), abs=1e-4)
    assert logged["lagrangian"] == pytest.approx(float(last.lagrangian))
    assert [logged["gap_0"], logged["gap_1"]] == pytest.approx(last.gap.flatten().tolist())
    assert [logged["dual_0"], logged["dual_1"]] == pytest.approx(last.dual.flatten().tolist())

    before = copy.deepcopy(trainer.criterion.state_dict())
    found = trainer.evaluate()
    rows = make_rows(1)
    logits = trainer.model(torch.tensor(np.stack([row["x"] for row in rows])))["logits"].detach()
    y = torch.tensor([row["labels"] for row in rows])
    assert found["eval_loss"] == pytest.approx(float(nn.functional.cross_entropy(logits, y)), abs=1e-5)
    group = [row["group"] for row in rows]
    assert found["eval_deo"] == pytest.approx(deo(y.numpy(), logits.argmax(1).numpy(), sensitive_features=group).value)
    after = trainer.criterion.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before if isinstance(before[name], torch.Tensor))


def test_predictions_need_no_labels(tmp_path):
    trainer = make_trainer(tmp_path)
    full = make_rows(2)
    expected = trainer.predict(full).predictions
    for left_out in ({"labels"}, {"labels", "group"}):
        rows = [{name: value for name, value in row.items() if name not in left_out} for row in full]
        np.testing.assert_array_equal(trainer.predict(rows).predictions, expected)


@pytest.mark.parametrize("wrap", [lambda logits: logits, lambda logits: (logits, None)], ids=["tensor", "tuple"])
def test_models_that_return_tensors_or_tuples(wrap, tmp_path):
    class Bare(Net):
        def forward(self, x):
            return wrap(super().forward(x)["logits"])

    trainer = make_trainer(tmp_path, model=Bare())
    trainer.train()
    assert_same(trainer, *plain_loop(1))


def test_bert(tmp_path):
    """A model of the library itself: text in, two logits out; the word tells the label, but not for group 1."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(128):
        y, group = int(rng.integers(2)), int(rng.integers(2))
        word = 5 + y if group == 0 or rng.random() < 0.6 else 6 - y
        rows.append({"input_ids": [1, word, 7 + group, 2], "attention_mask": [1] * 4, "label": y, "group": group})
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=10, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, num_labels=2
    )
    criterion = ConstrainedLoss(
        nn.CrossEntropyLoss(reduction="none"), EqualOpportunity(), FairALM(eta=0.05), n_groups=2
    )
    trainer = make_trainer(
        tmp_path,
        BertForSequenceClassification(config),
        criterion,
        args={"num_train_epochs": 2, "save_strategy": "epoch", "save_total_limit": 1},
        train_dataset=rows,
        eval_dataset=rows,
    )
    trainer.train()
    assert criterion.t == 1 + 2 * 8
    assert float(criterion.dual) != 0
    assert trainer.predict(rows).predictions.shape == (128, 2)


class TestBadInput:
    def test_settings(self, tmp_path):
        for criterion in (nn.CrossEntropyLoss(), None):
            with pytest.raises(InputError, match="`criterion` must be a ConstrainedLoss"):
                ConstrainedTrainer(Net(), TrainingArguments(str(tmp_path), use_cpu=True), criterion=criterion)
        with pytest.raises(InputError, match="`compute_loss_func` and `label_smoothing_factor` have no effect here"):
            make_trainer(tmp_path, compute_loss_func=print)

    @pytest.mark.parametrize("column", ["labels", "group"])
    def test_a_missing_column(self, column, tmp_path):
        rows = [{name: value for name, value in row.items() if name != column} for row in make_rows()]
        with pytest.raises(InputError, match=f"The batch has no '{column}', only x, "):
            make_trainer(tmp_path, train_dataset=rows).train()
        if column == "group":
            with pytest.raises(InputError, match="The batch has no 'group'"):
                make_trainer(tmp_path).evaluate(rows)
