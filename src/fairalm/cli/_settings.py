"""What to train: the options as typed, and which of them go together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairalm.cli._models import check_choice, make_constraint, make_estimator, make_method
from fairalm.cli._nets import ADVERSARIAL, LAST_LAYER, NETS, PICTURES
from fairalm.exceptions import InputError
from fairalm.methods import DEFAULT_METHOD
from fairalm.sklearn.classifier import PREDICTORS

SIGNALS = ("train", "heldout", "crossfit")
MAX_ITER = 50


@dataclass(frozen=True)
class Settings:
    """The options that say what to train, as typed."""

    constraint: str
    tol: float
    estimator: str
    method: str
    eta: float | None
    dual_signal: str
    test_size: float
    seed: int
    max_iter: int | None = None
    predictor: str | None = None
    epochs: int | None = None
    batch_size: int | None = None
    device: str | None = None
    image_column: str | None = None
    image_size: int | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        """Refuse unknown names, and options that do not go together, before any work."""
        check_choice("dual signal", self.dual_signal, SIGNALS)
        make_constraint(self.constraint, self.tol, None)
        if self.predictor is not None:
            check_choice("predictor", self.predictor, PREDICTORS)
        if self.is_net:
            unused, kind = ["max_iter", "predictor"], "trained by steps"
        elif self.estimator == LAST_LAYER:
            unused, kind = ["epochs", "batch_size", "predictor"], "fitted whole"
        else:
            make_estimator(self.estimator, self.seed)
            unused, kind = ["epochs", "batch_size", "device"], "fitted whole"
        for name in unused:
            self._refuse(name, f"is {kind}")
        self._check_pictures()
        only_for = self._only_for()
        if only_for == ("full fits" if self.is_net else "mini-batches"):
            raise InputError(
                f"--method {self.method} is not for --estimator {self.estimator}, which is {kind}: leave it out for"
                f" the default, {default_method(self.estimator)}."
            )
        if self.is_net and self.dual_signal == "crossfit":
            raise InputError("--dual-signal crossfit is not for nets: choose train or heldout.")

    def _refuse(self, name: str, what: str) -> None:
        """Refuse an option that the estimator has no use for."""
        if getattr(self, name) is not None:
            option = name.replace("_", "-")
            raise InputError(f"--{option} is not for --estimator {self.estimator}, which {what}: leave it out.")

    def _check_pictures(self) -> None:
        if not self.is_pictures:
            for name in ("image_column", "image_size", "weights"):
                self._refuse(name, f"reads tables (for pictures: {', '.join(PICTURES)})")
        elif self.image_column is None:
            raise InputError(
                f"--estimator {self.estimator} is for pictures: name the column of their paths, --image-column."
            )
        elif self.batch_size == 1:
            raise InputError("--batch-size must be 2 or more for pictures: batch normalisation compares them.")
        if self.estimator == "relu3":
            self._refuse("weights", "is trained from scratch")
        elif self.weights not in (None, "imagenet") and not Path(str(self.weights)).is_file():
            raise InputError(f"There is no file {self.weights}: check the path, or pass --weights imagenet.")

    def _only_for(self) -> str:
        """What the rule's rounds may be."""
        if self.method != ADVERSARIAL or not self.is_pictures:
            return make_method(self.method, self.eta).traits.only_for
        if self.eta is not None:
            raise InputError(f"The method {self.method!r} has no step size: leave --eta out.")
        return "mini-batches"

    @property
    def is_net(self) -> bool:
        """Whether the model is trained by steps."""
        return self.estimator in NETS and self.estimator != LAST_LAYER

    @property
    def is_pictures(self) -> bool:
        """Whether it is shown pictures."""
        return self.estimator in PICTURES


def default_method(estimator: str) -> str:
    """Name of the rule that an estimator is trained with unless told."""
    if estimator == LAST_LAYER:
        return DEFAULT_METHOD[LAST_LAYER].name
    return DEFAULT_METHOD["nn" if estimator in NETS else "sklearn"].name


def default_signal(estimator: str) -> str:
    """Where the gap is measured in training unless told."""
    return "heldout" if estimator == LAST_LAYER else "train"
