"""A training loop: dual steps, measures after each epoch, choice of the epoch, checkpoints."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from fairalm.exceptions import InputError
from fairalm.files import AnyPath, write_atomic, write_json
from fairalm.measures.text import percent
from fairalm.nn.adversarial import Adversarial
from fairalm.nn.batches import Batches
from fairalm.nn.checkpoint import Checkpoint, Progress, describe, load_tensors, read_checkpoint, to_bytes
from fairalm.nn.checks import check_count, usable_device
from fairalm.nn.choice import Choose, check_choice, choose_epoch
from fairalm.nn.distributed import gather_from_ranks, n_ranks, rank, wait_for_ranks
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.modes import DelayedInterrupt, evaluating, frozen
from fairalm.nn.tally import Tally, mean_loss, run_batch, validate
from fairalm.nn.tensorboard import Row, find_writer, tensorboard_log
from fairalm.progress import progress_bar


class Trainer:
    """Trains a net with a :class:`ConstrainedLoss`. A run that was killed resumes where it was; on a CPU, to the bit.

    The dual steps are taken here: do not ``attach`` the criterion to the optimiser. Seed torch yourself, before you
    make the model. Under ``torch.distributed`` pass the model wrapped in ``DistributedDataParallel``; the first rank
    writes the files, and all ranks must see the folder.

    Parameters
    ----------
    model : torch.nn.Module
        Returns logits of shape (n,), (n, 1) or (n, classes).
    optimizer : torch.optim.Optimizer
        Of the model's parameters.
    criterion : ConstrainedLoss
        With ``dual_from="observe"`` the multipliers move by the last batch, run again after the primal step (Algorithm
        2 as written), or by held-out batches, see :meth:`fit`.
    epochs : int
        Passes over the training data.
    inner_steps : int
        Optimiser steps per dual step (the paper's appendix: 5).
    accumulate : int
        Batches per optimiser step; their gradients are averaged.
    backward : Adversarial, optional
        Takes the place of ``loss.backward()``, with a criterion whose method is ``Unconstrained``; any module with the
        same `backward` method will do. Checkpoints hold its state.
    scheduler : torch.optim.lr_scheduler.LRScheduler, optional
        Stepped after each epoch.
    head, head_epochs : torch.nn.Module and int, optional
        The part of the model that is trained alone, and for how many of the first epochs.
    choose : "best" or callable, optional
        Which epoch's weights to end with; by default the last. "best": the smallest validation error among the epochs
        whose gap is within the tolerance, else the smallest gap. A callable, such as :func:`fairalm.nvp` makes, takes
        the history and returns a row number.
    folder : path, optional
        For checkpoint.pt, history.json, model.pt (the final weights), weights/ and tensorboard/.
    checkpoint_every : int, optional
        Optimiser steps between checkpoints; there is one after each epoch.
    about : mapping of str to object, optional
        What else a resumed run must share, as text: a digest of the data and a seed, for example. The trainer itself
        cannot know what is in the batches.
    tensorboard : bool
        Log the history in the folder for TensorBoard.
    device : torch.device or str, optional
        Where to train; by default where the model is.
    progress : bool
        Show a progress bar.

    Attributes
    ----------
    history : pandas.DataFrame
        One row per epoch. ``train_...``: mean loss, error and the constraint's measure on the training batches, each
        batch with the weights it was trained at. ``valid_...``: error and measure on the validation data, the ends of
        their intervals (``..._low``, ``..._high``), and the share predicted as the target (``valid_selection``).
        ``dual_...``: the multipliers. The error is that of the target against the rest.
    chosen : int
        The row whose weights the model ended with.

    Examples
    --------
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> from fairalm import EqualOpportunity, FairALM
    >>> y, group = torch.tensor([0, 1] * 50), torch.tensor([0, 0, 1, 1] * 25)
    >>> loader = DataLoader(TensorDataset(torch.randn(100, 3), y, group), batch_size=20)
    >>> model = nn.Linear(3, 2)
    >>> loss = ConstrainedLoss(nn.CrossEntropyLoss(reduction="none"), EqualOpportunity(), FairALM(), n_groups=2)
    >>> trainer = Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), loss, epochs=3)
    >>> history = trainer.fit(loader, loader)
    >>> history["step"].tolist(), "valid_deo_high" in history
    ([5, 10, 15], True)
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        criterion: ConstrainedLoss,
        *,
        epochs: int,
        inner_steps: int = 1,
        accumulate: int = 1,
        backward: Adversarial | None = None,
        scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
        head: nn.Module | None = None,
        head_epochs: int = 0,
        choose: Choose | None = None,
        folder: AnyPath | None = None,
        checkpoint_every: int | None = None,
        about: Mapping[str, Any] | None = None,
        tensorboard: bool = False,
        device: torch.device | str | None = None,
        progress: bool = False,
    ) -> None:
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.epochs, self.inner_steps, self.accumulate, self.backward = epochs, inner_steps, accumulate, backward
        self.scheduler, self.head, self.head_epochs, self.choose = scheduler, head, head_epochs, choose
        self.folder = None if folder is None else Path(folder)
        self.checkpoint_every, self.tensorboard, self.progress = checkpoint_every, tensorboard, progress
        self.about = dict(about or {})
        self._check()
        self.device = usable_device(model, device)
        self.history, self.chosen = pd.DataFrame(), -1
        self._net = model.module if isinstance(model, DistributedDataParallel) else model

    def _check(self) -> None:
        kinds = {"model": nn.Module, "optimizer": torch.optim.Optimizer, "criterion": ConstrainedLoss}
        for name, kind in (kinds if self.backward is None else {**kinds, "backward": nn.Module}).items():
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"`{name}` must be of type {kind.__name__}; got {type(getattr(self, name)).__name__}.")
        least = {"epochs": 1, "inner_steps": 1, "accumulate": 1, "head_epochs": 0}
        for name, low in (least if self.checkpoint_every is None else {**least, "checkpoint_every": 1}).items():
            check_count(name, getattr(self, name), low)
        if not (self.choose in (None, "best") or callable(self.choose)):
            raise InputError(f"`choose` must be 'best', a callable or None; got {self.choose!r}.")
        for name in ("choose", "checkpoint_every", "tensorboard"):
            if getattr(self, name) and self.folder is None:
                raise InputError(f"`{name}` needs a place for its files: pass {{folder}} too.", folder=None)
        if self.tensorboard:
            find_writer()
        if isinstance(self.scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            raise InputError("`scheduler` is stepped without a metric, which ReduceLROnPlateau needs: use another.")
        if (self.head is None) != (self.head_epochs == 0):
            raise InputError("`head` and `head_epochs` go together: pass both or neither.")
        if self.head is not None and all(part is not self.head for part in self.model.modules()):
            raise InputError("`head` must be a part of the model, such as model.fc.")
        if self.head is not None and not getattr(self.model, "find_unused_parameters", True):
            raise InputError("`head` freezes the rest: wrap with DistributedDataParallel(find_unused_parameters=True).")

    def fit(
        self,
        train_loader: Iterable[Any],
        valid_loader: Iterable[Any] | None = None,
        *,
        dual_loader: Iterable[Any] | None = None,
        resume: bool = False,
    ) -> pd.DataFrame:
        """Train, and leave the model in evaluation mode with the weights of the chosen epoch; returns the history.

        Ctrl-C ends training after the current step, with a checkpoint; with several processes, without a new one.

        Parameters
        ----------
        train_loader : iterable of (x, y, group)
            Training data. At each epoch, ``set_epoch`` of a ``DistributedSampler`` is called.
        valid_loader : iterable of (x, y, group), optional
            Data to measure on after each epoch. Under ``torch.distributed``, each rank has all of it, or its share by a
            ``DistributedSampler``.
        dual_loader : iterable of (x, y, group), optional
            Held-out data that moves the multipliers, one batch per dual step, pass after pass; for
            ``dual_from="observe"``. Do not choose the epoch by the same data: training has closed the gap there.
        resume : bool
            Resume from the folder's checkpoint, if there is one. `epochs` may be larger; everything else must be as it
            was. Random numbers that a dataset draws in persistent workers are not restored.
        """
        if dual_loader is not None and self.criterion.dual_from != "observe":
            raise InputError("`dual_loader` is for a ConstrainedLoss with dual_from='observe'; this one has 'forward'.")
        check_choice(self.choose, self.criterion.constraint, valid_loader=valid_loader, dual_loader=dual_loader)
        given = {"train_loader": train_loader, "valid_loader": valid_loader, "dual_loader": dual_loader}
        self._loaders = {name: Batches(loader, name) for name, loader in given.items() if loader is not None}
        self._checkpoint = self._make_checkpoint()
        saved = self._checkpoint.find(self.epochs, resume=resume)
        for part in (self.model, self.criterion, self.backward):
            if part is not None:
                part.to(self.device)
        self._progress = Progress(self._empty_tally())
        if saved is not None:
            self._checkpoint.restore(saved, self._progress)
        elif self.folder is not None:
            self._checkpoint.save(self._progress)
            if rank() == 0:
                read_checkpoint(self.folder)  # a state that cannot be read back is an error now, not at the resume
        rows = self._progress.rows
        events = self.folder / "tensorboard" if self.folder and self.tensorboard and rank() == 0 else None
        total = -(-operator.length_hint(train_loader, 0) // self.accumulate) * self.epochs
        shown = self.progress and rank() == 0
        with tensorboard_log(events, len(rows)) as log, progress_bar(total or None, shown=shown) as update:
            while len(rows) < self.epochs:
                self._train_epoch(update)
                self._end_epoch(log)
        return self._finish()

    def _make_checkpoint(self) -> Checkpoint:
        config = describe(
            self._net,
            self.optimizer,
            self.criterion,
            processes=n_ranks(),
            inner_steps=self.inner_steps,
            accumulate=self.accumulate,
            head_epochs=self.head_epochs,
            choose="absent" if self.choose is None else "given",
            backward=type(self.backward).__name__,
            scheduler=type(self.scheduler).__name__,
            **{name: f"of {operator.length_hint(part.loader, -1)} batches" for name, part in self._loaders.items()},
        ) | {name: str(value) for name, value in self.about.items()}
        parts = {
            "model": self._net,
            "optimizer": self.optimizer,
            "scheduler": self.scheduler,
            "criterion": self.criterion,
            "backward": self.backward,
        }
        return Checkpoint(self.folder, config, parts, self._loaders)

    def _empty_tally(self) -> Tally:
        return Tally.empty(self.criterion.n_groups, target=self.criterion.target, device=self.device)

    def _train_epoch(self, update: Callable[[int, str], None]) -> None:
        batches, progress = self._loaders["train_loader"], self._progress
        if not batches.is_open:
            batches.open()
            progress.tally = self._empty_tally()
        self.model.train()
        self.criterion.train()
        # several ranks would stop at different steps, so there Ctrl-C is not delayed
        with self._freeze(), DelayedInterrupt(self.folder is not None and n_ranks() == 1) as interrupt:
            while not interrupt.is_requested and (taken := self._take(batches, interrupt)):
                self._primal_step(taken)
                if progress.step % self.inner_steps == 0:
                    self._dual_step(taken)
                if self.checkpoint_every is not None and progress.step % self.checkpoint_every == 0:
                    self._checkpoint.save(progress)
                update(progress.step, _bar_text(progress.rows))
            self._checkpoint.save(progress)
        if interrupt.is_requested:
            raise KeyboardInterrupt

    def _freeze(self) -> AbstractContextManager[None]:
        is_early = len(self._progress.rows) < self.head_epochs
        return frozen(self._net, self.head) if is_early and self.head is not None else nullcontext()

    def _take(self, batches: Batches, interrupt: DelayedInterrupt) -> list[Any]:
        try:
            return batches.take(self.accumulate)
        except RuntimeError:
            if interrupt.is_requested:  # Ctrl-C has ended the loader's workers too
                return []
            raise

    def _primal_step(self, taken: list[Any]) -> None:
        self.optimizer.zero_grad()
        for place, batch in enumerate(taken, 1):
            is_local = place < len(taken) and isinstance(self.model, DistributedDataParallel)  # average once per step
            with self.model.no_sync() if is_local else nullcontext():  # type: ignore[operator]
                logits, y, group = run_batch(self.model, batch, "train_loader", self.device)
                loss = self.criterion(logits, y, group) / len(taken)
                if self.backward is None:
                    loss.backward()
                else:
                    self.backward.backward(loss, logits, y, group, self.model.parameters())
            self._progress.tally.add(logits, y, group, mean_loss(self.criterion))
        t = self.criterion.t
        self.optimizer.step()
        if self.criterion.t != t:
            raise InputError("The criterion is attached to the optimizer, but the Trainer takes dual steps: detach it.")
        self._progress.step += 1

    def _dual_step(self, taken: list[Any]) -> None:
        if self.criterion.dual_from == "observe":
            name = "dual_loader" if "dual_loader" in self._loaders else "train_loader"
            with evaluating(self._net):
                for batch in [self._loaders[name].cycle()] if name == "dual_loader" else taken:
                    with torch.no_grad():
                        observed = run_batch(self._net, batch, name, self.device)
                    self.criterion.observe(*observed)
        self.criterion.step()

    def _end_epoch(self, log: Callable[[Row], None]) -> None:
        """Measure and write; the checkpoint comes last, so that the files it goes with are there."""
        self._loaders["train_loader"].close()
        if self.scheduler is not None:
            self.scheduler.step()
        rows, constraint = self._progress.rows, self.criterion.constraint
        train = self._progress.tally.over_ranks().measures(constraint, train=True)
        row: Row = {"epoch": len(rows), "step": self._progress.step}
        row |= {f"train_{name}": value for name, value in train.items()}
        if "valid_loader" in self._loaders:
            valid = validate(self._net, self.criterion, self._loaders["valid_loader"], self.device)
            row |= {f"valid_{name}": value for name, value in valid.measures(constraint).items()}
            row["valid_selection"] = valid.selection
        row |= {f"dual_{i}": value for i, value in enumerate(self.criterion.dual.flatten().tolist())}
        rows.append(gather_from_ranks(row)[0])
        if self.choose is not None:
            self._write_weights(f"weights/epoch-{row['epoch']}.pt")
        if self.folder is not None and rank() == 0:
            write_json(self.folder / "history.json", pd.DataFrame(rows).to_dict("list"))
        log(rows[-1])
        self._checkpoint.save(self._progress)

    def _finish(self) -> pd.DataFrame:
        self.history = pd.DataFrame(self._progress.rows)
        self.chosen = len(self.history) - 1
        if self.folder is not None:
            if self.choose is not None:
                self.chosen = choose_epoch(self.choose, self.history, self.criterion.constraint)
                path = self.folder / f"weights/epoch-{self.chosen}.pt"
                self._net.load_state_dict(load_tensors(path, "the weights of an epoch"))
            self._write_weights("model.pt")
        self.model.eval()
        return self.history

    def _write_weights(self, name: str) -> None:
        if self.folder is not None and rank() == 0:
            write_atomic(self.folder / name, to_bytes(self._net.state_dict()))
        wait_for_ranks()


def _bar_text(rows: list[Row]) -> str:
    error = f": error {percent(rows[-1]['valid_error'])}" if rows and "valid_error" in rows[-1] else ""
    return f"epoch {len(rows)}{error}"
