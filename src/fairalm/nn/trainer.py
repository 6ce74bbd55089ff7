"""A training loop for those who do not want to write one: dual steps, measures, choice of the epoch, checkpoints."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

from fairalm.exceptions import InputError
from fairalm.files import AnyPath, write_atomic, write_json
from fairalm.mixtures import choose_single
from fairalm.nn.batches import Batches, random_state, set_random_state
from fairalm.nn.checkpoint import describe, find_checkpoint, read_checkpoint, to_bytes, write_checkpoint
from fairalm.nn.distributed import gathered, n_ranks, rank, wait
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.modes import HeldInterrupt, evaluating, frozen
from fairalm.nn.tally import Tally
from fairalm.nn.watch import Row, curves, epoch_bar, find_writer
from fairalm.selection import NVP

Choose = Callable[[pd.DataFrame], int] | Literal["best"]


class Trainer:
    """Trains a net with a :class:`ConstrainedLoss`; a run that was killed goes on where it was, on a CPU to the bit.

    The criterion's dual step is made here: do not ``attach`` the optimiser. Seed torch yourself, before the model is
    made. Under ``torch.distributed`` pass the model wrapped in ``DistributedDataParallel``; the first rank writes the
    files, and all must see the folder.

    Parameters
    ----------
    model : torch.nn.Module
        Gives logits, of shape (n,), (n, 1) or (n, classes).
    optimizer : torch.optim.Optimizer
        Of the model's parameters.
    criterion : ConstrainedLoss
        With ``dual_from="observe"`` the multipliers are moved by the last batch seen again after the primal step
        (Algorithm 2 as written), or by held-out batches, see :meth:`fit`; the net is in evaluation mode for that.
    epochs : int
        Passes over the training data.
    inner_steps : int
        Optimiser steps per dual step (the paper's appendix: 5).
    accumulate : int
        Batches per optimiser step, whose gradients are averaged.
    scheduler : torch.optim.lr_scheduler.LRScheduler, optional
        Stepped after each epoch.
    head : torch.nn.Module, optional
        The part of the model that is trained alone for the first `head_epochs` epochs; parameters and running
        statistics outside it stay put until then.
    head_epochs : int
        See `head`.
    choose : "best" or callable, optional
        Which epoch's weights to end with, by default the last. "best": smallest validation error among the epochs whose
        gap is within the tolerance, else the smallest gap. A callable, such as :func:`fairalm.nvp` makes, gets the
        history and returns a row number. With either, the weights of every epoch are kept in the folder.
    folder : path, optional
        For checkpoint.pt, history.json, model.pt (the weights it ended with), weights/ and tensorboard/.
    checkpoint_every : int, optional
        Optimiser steps between checkpoints, besides those at the end of each epoch.
    tensorboard : bool
        Log the history in the folder for TensorBoard.
    device : torch.device or str, optional
        Where to train; by default where the model is.
    progress : bool
        Show a bar on stderr.

    Attributes
    ----------
    history : pandas.DataFrame
        One row per epoch: mean loss, error and the criterion's measure on the training batches, each as the net was
        when it was trained on (``train_...``); error and measure on the validation data with the ends of their
        intervals (``valid_...``, ``..._low``, ``..._high``), and the share predicted as the target there
        (``valid_selection``); the multipliers (``dual_...``). The error is that of the target against the rest.
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
        scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
        head: nn.Module | None = None,
        head_epochs: int = 0,
        choose: Choose | None = None,
        folder: AnyPath | None = None,
        checkpoint_every: int | None = None,
        tensorboard: bool = False,
        device: torch.device | str | None = None,
        progress: bool = False,
    ) -> None:
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.epochs, self.inner_steps, self.accumulate = epochs, inner_steps, accumulate
        self.scheduler, self.head, self.head_epochs, self.choose = scheduler, head, head_epochs, choose
        self.folder = None if folder is None else Path(folder)
        self.checkpoint_every, self.tensorboard, self.progress = checkpoint_every, tensorboard, progress
        self._check()
        self.device = next(model.parameters()).device if device is None else torch.device(device)
        self.history, self.chosen = pd.DataFrame(), -1
        self._net = model.module if isinstance(model, DistributedDataParallel) else model
        self._measures = [name for name in ("error", criterion.constraint.measure) if name]

    def _check(self) -> None:
        for name, kind in (("model", nn.Module), ("optimizer", torch.optim.Optimizer), ("criterion", ConstrainedLoss)):
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"`{name}` must be of type {kind.__name__}; got {type(getattr(self, name)).__name__}.")
        least = {"epochs": 1, "inner_steps": 1, "accumulate": 1, "head_epochs": 0, "checkpoint_every": 1}
        for name, low in least.items():
            value = getattr(self, name)
            is_count = isinstance(value, int) and not isinstance(value, bool) and value >= low
            if not is_count and not (name == "checkpoint_every" and value is None):
                raise InputError(f"`{name}` must be an integer, {low} or more; got {value!r}.")
        if not (self.choose in (None, "best") or callable(self.choose)):
            raise InputError(f"`choose` must be 'best', a callable or None; got {self.choose!r}.")
        for name in ("choose", "checkpoint_every", "tensorboard"):
            if getattr(self, name) and self.folder is None:
                raise InputError(f"`{name}` needs a place for its files: pass folder= too.")
        if self.tensorboard:
            find_writer()
        if isinstance(self.scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            raise InputError("`scheduler` is stepped by the epoch; ReduceLROnPlateau needs a figure: use another.")
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
        """Train, and leave the model with the weights of the chosen epoch, in evaluation mode.

        Ctrl-C ends it after the step under way, with a checkpoint; with several processes, the last checkpoint stands.

        Parameters
        ----------
        train_loader : iterable of (x, y, group)
            What the model is trained on. A ``DistributedSampler`` is told the epoch.
        valid_loader : iterable of (x, y, group), optional
            What it is measured on after each epoch. Under ``torch.distributed`` the counts of the ranks are summed if
            it has a ``DistributedSampler``; else every rank is taken to have all of it.
        dual_loader : iterable of (x, y, group), optional
            Held-out data that moves the multipliers, one batch per dual step, over and over; for
            ``dual_from="observe"``. Not the data that `choose` goes by: a gap pushed to 0 there says nothing new.
        resume : bool
            Go on from the folder's checkpoint, if there is one. `epochs` may be more, all else must be as it was. The
            batches of the epoch under way that were done already are loaded again and dropped. Random numbers that a
            dataset draws in persistent workers are not taken up.

        Returns
        -------
        pandas.DataFrame
            The `history`.
        """
        if dual_loader is not None and self.criterion.dual_from != "observe":
            raise InputError("`dual_loader` is for a ConstrainedLoss with dual_from='observe'; this one has 'forward'.")
        self._check_choice(valid_loader, dual_loader)
        given = {"train_loader": train_loader, "valid_loader": valid_loader, "dual_loader": dual_loader}
        self._loaders = {name: Batches(loader, name) for name, loader in given.items() if loader is not None}
        self._generators = [generator for batches in self._loaders.values() for generator in batches.generators]
        self._config = self._describe()
        saved = find_checkpoint(self.folder, self._config, self.epochs, resume=resume)
        self.model.to(self.device)
        self.criterion.to(self.device)
        self._rows: list[Row] = []
        self._step, self._tally = 0, self._new_tally()
        if saved is not None:
            self._restore(saved)
        elif self.folder is not None:
            self._save()
            if rank() == 0:
                read_checkpoint(self.folder)  # what cannot be read back is better known now
        events = self.folder / "tensorboard" if self.folder and self.tensorboard and rank() == 0 else None
        steps = -(-operator.length_hint(train_loader, 0) // self.accumulate) * self.epochs
        with curves(events, len(self._rows)) as log, epoch_bar(steps, self.progress and rank() == 0) as show:
            while len(self._rows) < self.epochs:
                self._train_epoch(show)
                self._end_epoch(log)
        return self._finish()

    def _check_choice(self, valid_loader: Any, dual_loader: Any) -> None:
        """What chooses the epoch must be in the history, and from data that the multipliers do not see."""
        if self.choose is not None and dual_loader is not None and dual_loader is valid_loader:
            raise InputError("`dual_loader` is `valid_loader`, by which the epoch is chosen: hold out a part for each.")
        if self.choose == "best" and (valid_loader is None or len(self._measures) < 2):
            raise InputError("`choose='best'` goes by a criterion's measure on validation data: pass valid_loader=.")
        if not isinstance(self.choose, NVP):
            return
        if valid_loader is None:
            raise InputError("`choose=nvp(...)` goes by figures on validation data: pass valid_loader=.")
        if self.choose.gap not in self._measures:
            measures = ", ".join(self._measures)
            raise InputError(
                f"`choose=nvp(...)` goes by {self.choose.gap}; the history has {measures}: pass nvp(gap=...)."
            )

    def _train_epoch(self, show: Callable[[int, list[Row]], None]) -> None:
        batches = self._loaders["train_loader"]
        if not batches.is_open:
            batches.open()
            self._tally = self._new_tally()
        self.model.train()
        self.criterion.train()
        # several ranks would stop at different steps, so there Ctrl-C is not held
        with self._freeze(), HeldInterrupt(self.folder is not None and n_ranks() == 1) as interrupt:
            while not interrupt.came and (chunk := self._take(batches, interrupt)):
                self._primal_step(chunk)
                if self._step % self.inner_steps == 0:
                    self._dual_step(chunk)
                if self.checkpoint_every is not None and self._step % self.checkpoint_every == 0:
                    self._save()
                show(self._step, self._rows)
            self._save()
        if interrupt.came:
            raise KeyboardInterrupt

    def _freeze(self) -> AbstractContextManager[None]:
        is_early = len(self._rows) < self.head_epochs
        return frozen(self._net, self.head) if is_early and self.head is not None else nullcontext()

    def _take(self, batches: Batches, interrupt: HeldInterrupt) -> list[Any]:
        try:
            return batches.take(self.accumulate)
        except RuntimeError:
            if interrupt.came:  # the loader's workers hear Ctrl-C too, and leave
                return []
            raise

    def _primal_step(self, chunk: list[Any]) -> None:
        self.optimizer.zero_grad()
        for place, batch in enumerate(chunk, 1):
            is_apart = place < len(chunk) and isinstance(self.model, DistributedDataParallel)
            with self.model.no_sync() if is_apart else nullcontext():  # type: ignore[operator]
                logits, y, group = self._forward(self.model, batch, "train_loader")
                (self.criterion(logits, y, group) / len(chunk)).backward()
            self._tally.add(logits, y, group, self._mean_loss())
        t = self.criterion.t
        self.optimizer.step()
        if self.criterion.t != t:
            raise InputError("The criterion is attached to the optimizer; the Trainer makes the dual step: detach it.")
        self._step += 1

    def _dual_step(self, chunk: list[Any]) -> None:
        if self.criterion.dual_from == "observe":
            name = "dual_loader" if "dual_loader" in self._loaders else "train_loader"
            with evaluating(self._net):
                for batch in [self._loaders[name].cycle()] if name == "dual_loader" else chunk:
                    with torch.no_grad():
                        fed = self._forward(self._net, batch, name)
                    self.criterion.observe(*fed)
        self.criterion.step()

    def _forward(self, net: nn.Module, batch: Any, name: str) -> tuple[Tensor, Tensor, Tensor]:
        if not isinstance(batch, (tuple, list)) or len(batch) != 3:
            came = f"{len(batch)} things" if isinstance(batch, (tuple, list)) else f"a {type(batch).__name__}"
            raise InputError(f"`{name}` must yield (x, y, group); got {came}.")
        for part, value in zip(("x", "y", "group"), batch, strict=True):
            if not hasattr(value, "to"):
                raise InputError(f"`{name}` must yield tensors; got a {type(value).__name__} for {part}.")
        x, y, group = (part.to(self.device) for part in batch)
        logits = net(x)
        if not isinstance(logits, Tensor):
            raise InputError(f"The model must give a tensor of logits; got a {type(logits).__name__}.")
        if logits.ndim == 2 and logits.shape[1] == 1 and y.ndim == 1:
            logits = logits[:, 0]
        return logits, y, group

    def _mean_loss(self) -> Tensor:
        """Mean loss of this rank's last batch; the criterion divides by the people of all ranks."""
        assert self.criterion.last is not None
        return self.criterion.last.loss * n_ranks()

    def _end_epoch(self, log: Callable[[Row], None]) -> None:
        """Measure, note and keep; the checkpoint comes last, so that what it speaks of is there."""
        self._loaders["train_loader"].close()
        if self.scheduler is not None:
            self.scheduler.step()
        train = self._tally.summed().figures(self._measures, train=True)
        row: Row = {"epoch": len(self._rows), "step": self._step}
        row |= {f"train_{name}": value for name, value in train.items()}
        if "valid_loader" in self._loaders:
            valid = self._validate()
            row |= {f"valid_{name}": value for name, value in valid.figures(self._measures).items()}
            predicted = valid.counts[1::2].sum()  # the odd cells: predicted as the target
            row["valid_selection"] = int(predicted) / int(valid.counts.sum())
        row |= {f"dual_{i}": value for i, value in enumerate(self.criterion.dual.flatten().tolist())}
        self._rows.append(gathered(row)[0])
        if self.choose is not None:
            self._write_weights(f"weights/epoch-{row['epoch']}.pt")
        if self.folder is not None and rank() == 0:
            write_json(self.folder / "history.json", pd.DataFrame(self._rows).to_dict("list"))
        log(self._rows[-1])
        self._save()

    @torch.no_grad()
    def _validate(self) -> Tally:
        batches, tally = self._loaders["valid_loader"], self._new_tally()
        for buffer in self._net.buffers() if n_ranks() > 1 else ():  # each rank has running statistics of its own
            distributed.broadcast(buffer, 0)
        kept = random_state([])  # whether one measures or not, the same net is trained
        batches.open()
        with evaluating(self._net), evaluating(self.criterion):
            while chunk := batches.take(1):
                logits, y, group = self._forward(self._net, chunk[0], batches.name)
                self.criterion(logits, y, group)  # for its checks; in this mode it learns nothing
                tally.add(logits, y, group, self._mean_loss())
        batches.close()
        set_random_state(kept, [])
        if bool(tally.loss.isnan()):
            raise InputError("The loss on `valid_loader` is NaN: the net has diverged, or its input has NaN.")
        is_shared = isinstance(getattr(batches.loader, "sampler", None), DistributedSampler)
        return tally.summed() if is_shared else tally

    def _new_tally(self) -> Tally:
        return Tally.empty(self.criterion.n_groups, target=self.criterion.target, device=self.device)

    def _finish(self) -> pd.DataFrame:
        self.history, self.chosen = pd.DataFrame(self._rows), len(self._rows) - 1
        if self.folder is not None:
            if self.choose is not None:
                self.chosen = self._choose(self.choose)
                path = self.folder / f"weights/epoch-{self.chosen}.pt"
                self._net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
            self._write_weights("model.pt")
        self.model.eval()
        return self.history

    def _choose(self, choose: Choose) -> int:
        if not callable(choose):
            error, gap = (self.history[f"valid_{name}"].fillna(1.0).to_numpy(float) for name in self._measures)
            return choose_single(error, gap[:, None], tol=self.criterion.constraint.tol)
        answer = choose(self.history)
        if not hasattr(answer, "__index__") or not 0 <= operator.index(answer) < len(self.history):
            raise InputError(f"`choose` must return a row of the history, 0..{len(self.history) - 1}; got {answer!r}.")
        return operator.index(answer)

    def _write_weights(self, name: str) -> None:
        if self.folder is not None and rank() == 0:
            write_atomic(self.folder / name, to_bytes(self._net.state_dict()))
        wait()

    def _describe(self) -> dict[str, str]:
        return describe(
            self._net,
            self.optimizer,
            self.criterion,
            processes=n_ranks(),
            inner_steps=self.inner_steps,
            accumulate=self.accumulate,
            head_epochs=self.head_epochs,
            choose="absent" if self.choose is None else "given",
            scheduler=type(self.scheduler).__name__,
            **{name: f"of {operator.length_hint(part.loader, -1)} batches" for name, part in self._loaders.items()},
        )

    def _save(self) -> None:
        if self.folder is None:
            return
        own = {
            "random": random_state(self._generators),
            "loaders": {name: batches.state_dict() for name, batches in self._loaders.items()},
            "tally": {"counts": self._tally.counts, "loss": self._tally.loss},
        }
        ranks = gathered(own)
        if rank() == 0:
            content = {
                "config": self._config,
                "step": self._step,
                "history": self._rows,
                "model": self._net.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
                "criterion": self.criterion.state_dict(),
                "ranks": ranks,
            }
            write_checkpoint(self.folder, content)

    def _restore(self, saved: dict[str, Any]) -> None:
        self._step, self._rows = saved["step"], saved["history"]
        self._net.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.criterion.load_state_dict(saved["criterion"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(saved["scheduler"])
            self.optimizer._opt_called = self._step > 0  # type: ignore[attr-defined]  # or torch finds its order wrong
        own = saved["ranks"][rank()]
        self._tally.counts.copy_(own["tally"]["counts"])
        self._tally.loss.copy_(own["tally"]["loss"])
        for name, batches in self._loaders.items():
            batches.load_state_dict(own["loaders"][name])
        set_random_state(own["random"], self._generators)
