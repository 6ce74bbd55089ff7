"""A neural network for tables, as a scikit-learn classifier: what the command line trains as `mlp`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from fairalm._validation import Groups, Missing, check_binary, check_same_index, encode_groups
from fairalm.arrays import FloatArray, IntArray
from fairalm.constraints import Constraint, check_cells
from fairalm.datasets import split
from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.measures import group_rates, measure_of
from fairalm.methods import Method, Unconstrained
from fairalm.nn.checks import check_count, check_positive, usable_device, warn_about_gap
from fairalm.nn.distributed import n_ranks
from fairalm.nn.learning_rate import cosine_decay
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.row_batches import RowBatches
from fairalm.nn.seeds import seeded
from fairalm.nn.trainer import Trainer
from fairalm.parameters import MethodEstimator

CHECKPOINT_EVERY = 200  # steps: a second or two of work


class NetClassifier(ClassifierMixin, MethodEstimator):
    """A net with hidden layers for a table with two labels, trained under a constraint by :class:`Trainer`.

    Adam, with a learning rate that falls to 0 along a cosine. Under ``torchrun`` every process gets its share of each
    batch and ends with the same net.

    Parameters
    ----------
    constraint : Constraint or str, optional
        The constraint with its tolerance, or its name; equal opportunity if left out.
    method : Method or str, optional
        How the multipliers move, or its name; :class:`fairalm.PIControl` if left out, which needs no tuning.
    transformer : transformer, optional
        Turns X into numbers, for example :func:`fairalm.datasets.preprocess`; without it X must be numeric.
    hidden : sequence of int
        Units of the hidden layers.
    epochs, batch_size, lr
        Passes over the rows, rows per step, and Adam's first learning rate.
    dual_signal : {"train", "heldout"}
        Which rows move the multipliers: the batches trained on, or rows held out for it, a share of `heldout_size`. A
        net that memorises its training rows can have no gap on them and a large one on new rows.
    heldout_size : float
    folder, resume : path and bool, optional
        A folder for checkpoints, and whether to resume from the one there, if any.
    device : str, optional
        Where to train: "cpu", "cuda", "mps". The CPU if left out.
    missing, merge_below, random_state, verbose
        As in :class:`fairalm.FairALMClassifier`.

    Attributes
    ----------
    classes_ : array
    history_ : DataFrame
        One row per epoch, see :class:`Trainer`.
    gap_, error_ : float
        The constraint's measure and the error of the net on the training rows.
    dual_, parameters_ : array, and dict of str to array
        The last multipliers, and the net's parameters.

    Examples
    --------
    >>> from fairalm import EqualOpportunity
    >>> from fairalm.datasets import load_compas, preprocess
    >>> data = load_compas()
    >>> X = data.features_frame(with_protected=True)
    >>> net = NetClassifier(constraint=EqualOpportunity(tol=0.03), transformer=preprocess(X), random_state=0)
    >>> net.fit(X, data.y, sensitive_features=data.groups).gap_ <= 0.03
    True
    """

    backend = "nn"

    def __init__(
        self,
        *,
        constraint: Constraint | str | None = None,
        method: Method | str | None = None,
        transformer: Any = None,
        hidden: Sequence[int] = (64, 64),
        epochs: int = 30,
        batch_size: int = 256,
        lr: float = 1e-3,
        dual_signal: Literal["train", "heldout"] = "train",
        heldout_size: float = 0.25,
        folder: AnyPath | None = None,
        resume: bool = False,
        device: str | None = None,
        missing: Missing = "error",
        merge_below: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.constraint = constraint
        self.method = method
        self.transformer = transformer
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.dual_signal = dual_signal
        self.heldout_size = heldout_size
        self.folder = folder
        self.resume = resume
        self.device = device
        self.missing = missing
        self.merge_below = merge_below
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> NetClassifier:
        """Train on a table, two labels and the protected attribute, given as to :class:`fairalm.FairALMClassifier`."""
        self._check_settings()
        device = usable_device(None, self.device)
        check_same_index(X=X, y=y, sensitive_features=sensitive_features)
        labels = np.asarray(y)
        constraint, method = self._constraint(), self._method()
        positive, classes = check_binary(labels, target=constraint.target)
        groups = encode_groups(
            sensitive_features, n_rows=len(labels), missing=self.missing, merge_below=self.merge_below
        )
        kept = np.flatnonzero(groups.codes >= 0)
        check_cells(constraint, positive[kept], groups.codes[kept], groups.names, classes)
        table = self._numbers(X, fit=True)
        if len(table) != len(labels):
            raise InputError(f"y has {len(labels)} rows, X has {len(table)}: pass one label per row.")
        self.classes_, self.target_ = np.sort(np.array(classes)), classes[1]
        self._train(table[kept], positive[kept], Groups(groups.codes[kept], groups.labels), constraint, device)
        names = np.array(groups.names, dtype=object)[groups.codes[kept]]
        rates = group_rates(positive[kept], self._logits(table[kept]) > 0, sensitive_features=names)
        self.error_ = float(measure_of("error", rates, train=True).value or 0.0)
        self.gap_ = float(measure_of(constraint, rates, train=True).value or 0.0)
        if not isinstance(method, Unconstrained):
            warn_about_gap(self.gap_, constraint.tol, self.epochs, stacklevel=2)
        return self

    def _train(
        self, table: Any, positive: npt.NDArray[np.bool_], groups: Groups, constraint: Constraint, device: torch.device
    ) -> None:
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        columns = [torch.as_tensor(part) for part in (table, positive.astype(np.float32), groups.codes)]

        def batches(rows: IntArray) -> RowBatches:
            return RowBatches([column[rows] for column in columns], self.batch_size, seed=seed)

        fitted, held = np.arange(len(table)), None
        if self.dual_signal == "heldout":
            fitted, held = split(positive, groups.codes, test_size=self.heldout_size, random_state=seed)
        criterion = ConstrainedLoss(
            nn.BCEWithLogitsLoss(reduction="none"),
            replace(constraint, target=None),  # class 1 here, whatever its label
            self._method(),
            n_groups=groups.n_groups,
            dual_from="forward" if held is None else "observe",
        )
        with seeded(seed):
            net = make_net(table.shape[1], self.hidden).to(device)
        optimizer = torch.optim.Adam(net.parameters(), lr=self.lr)
        trainer = Trainer(
            DistributedDataParallel(net) if n_ranks() > 1 else net,
            optimizer,
            criterion,
            epochs=self.epochs,
            scheduler=cosine_decay(optimizer, self.epochs),
            folder=self.folder,
            checkpoint_every=None if self.folder is None else CHECKPOINT_EVERY,
            about=None if self.folder is None else self._about(columns, seed),
            device=device,
            progress=self.verbose,
        )
        dual_loader = None if held is None else batches(held)
        # training draws from generators of its own; a resumed one restores the global random numbers too
        with seeded(seed) if self.resume else nullcontext():
            self.history_ = trainer.fit(batches(fitted), dual_loader=dual_loader, resume=self.resume)
        self.parameters_ = {name: value.cpu().numpy() for name, value in net.state_dict().items()}
        self.dual_ = criterion.multiplier.cpu().numpy()

    def _about(self, columns: Sequence[torch.Tensor], seed: int) -> dict[str, Any]:
        """What a resumed fit must share: with other rows or another seed it would go on with rows held out before."""
        digest = hashlib.sha256()
        for column in columns:
            digest.update(np.ascontiguousarray(column.numpy()).data)
        labels = [str(label) for label in (*self.classes_, self.target_)]
        return {
            "data": f"{len(columns[0])} rows, {digest.hexdigest()[:16]}",
            "labels": labels,
            "random_state": seed,
            "batch_size": self.batch_size,
            "heldout_size": self.heldout_size,
        }

    def predict(self, X: Any) -> Any:
        """Predict labels."""
        check_is_fitted(self)
        other = self.classes_[self.classes_ != self.target_][0]
        return np.where(self._logits(self._numbers(X)) > 0, self.target_, other)

    def predict_proba(self, X: Any) -> FloatArray:
        """Sigmoids of the logits. They come from a penalised loss and are not calibrated."""
        check_is_fitted(self)
        share = 1.0 / (1.0 + np.exp(-self._logits(self._numbers(X)).astype(np.float64)))
        both = np.stack([1.0 - share, share], axis=1)
        return both if self.classes_[1] == self.target_ else both[:, ::-1]

    def _check_settings(self) -> None:
        counts = {"epochs": self.epochs, "batch_size": self.batch_size}
        for name, value in (counts | {f"hidden[{i}]": units for i, units in enumerate(self.hidden)}).items():
            check_count(name, value, 1)
        check_positive("lr", self.lr)
        if self.dual_signal not in ("train", "heldout"):
            raise InputError(f"`dual_signal` must be 'train' or 'heldout'; got {self.dual_signal!r}.")
        if not 0 < self.heldout_size <= 0.5:
            raise InputError(f"`heldout_size` must lie in (0, 0.5]; got {self.heldout_size!r}.")

    def _numbers(self, X: Any, *, fit: bool = False) -> Any:
        if self.transformer is None:
            return validate_data(self, X, reset=fit, dtype=np.float32)
        if fit:
            self.transformer_ = clone(self.transformer).fit(X)
        made = self.transformer_.transform(X)
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float32)

    @torch.no_grad()
    def _logits(self, table: Any) -> Any:
        with seeded(0):  # a new net draws random weights, which are replaced here
            net = make_net(table.shape[1], self.hidden)
        net.load_state_dict({name: torch.as_tensor(value) for name, value in self.parameters_.items()})
        return net(torch.as_tensor(table))[:, 0].numpy()


def make_net(n_features: int, hidden: Sequence[int]) -> nn.Sequential:
    """Linear layers with ReLU between them, and one output."""
    sizes = [n_features, *hidden]
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 1))
