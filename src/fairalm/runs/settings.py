"""What to train, and which settings go together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairalm._validation import check_choice
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.frontier.joint import shares_of
from fairalm.measures import definition_of
from fairalm.methods import DEFAULT_METHOD, Method
from fairalm.runs.choices import (
    ADVERSARIAL,
    BOOSTERS,
    ESTIMATORS,
    FRONTIER,
    IMAGE_NETS,
    LAST_LAYER,
    NETS,
    WITH_PROBABILITIES,
    make_constraint,
    make_method,
)
from fairalm.runs.source import Source
from fairalm.sklearn.classifier import PREDICTORS

SIGNALS = ("auto", "train", "heldout", "crossfit")
MAX_ITER = 50


@dataclass(frozen=True)
class Settings:
    """What to train. None is the estimator's default.

    >>> Settings().method, Settings(estimator="mlp").method
    ('secant', 'pi-control')
    >>> Settings(epochs=3)
    Traceback (most recent call last):
    ...
    fairalm.exceptions.InputError: epochs is not for estimator='logistic', which is fitted whole: leave it out.
    """

    constraint: str | type[Constraint] = "equal-opportunity"  # a name, module:Class, or a class of your own
    tol: float = 0.01  # tolerance: 0.01 lets rates differ by one point
    estimator: str = "logistic"  # one of `fairalm list`
    method: str | type[Method] | None = None  # a name, module:Class, or a class of your own
    eta: float | None = None  # step size of the method, if it has one
    dual_signal: str | None = None  # where the gap is measured in training: auto, train, heldout or crossfit
    test_size: float = 0.3  # share of the rows to test on, if the source has no test file
    seed: int = 0  # of the split, the estimator and the method
    max_iter: int | None = None  # rounds at most, as in FairALMClassifier
    predictor: str | None = None  # as in FairALMClassifier
    epochs: int | None = None  # nets only: passes over the data
    batch_size: int | None = None  # nets only: rows per step
    device: str | None = None  # nets only: cpu, cuda or mps
    weights: str | None = None  # images only: a file of ImageNet weights to begin with, or "imagenet"

    def __post_init__(self) -> None:
        """Fill in the defaults of the estimator, and refuse what is unknown or does not go together."""
        check_choice("estimator", self.estimator, (*ESTIMATORS, *BOOSTERS, *NETS))
        if self.is_frontier:
            self._check_frontier()
        for name, default in (("method", default_method), ("dual_signal", default_signal)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default(self.estimator))
        check_choice("dual signal", self.dual_signal, SIGNALS)
        definition_of(self.make_constraint())
        if self.predictor is not None:
            check_choice("predictor", self.predictor, PREDICTORS)
        unused = ["epochs", "batch_size", "predictor" if self.estimator == LAST_LAYER else "device"]
        for name in ["max_iter", "predictor"] if self.in_batches else unused:
            self._refuse(name, f"is {self._trained}")
        if self.batch_size == 1 and self.reads_images:
            raise InputError("{batch_size} must be 2 or more for images: batch norm needs it.", batch_size=None)
        if self.estimator == "relu3":
            self._refuse("weights", "is trained from scratch")
        elif self.reads_images and self.weights not in (None, "imagenet") and not Path(str(self.weights)).is_file():
            raise InputError(f"There is no file {self.weights}: check it, or pass {{weights}}.", weights="imagenet")
        if not self.is_frontier:
            self._check_method()

    def _check_frontier(self) -> None:
        """Refuse what does not go with the frontier, whose gap is always measured out of fold."""
        if self.estimator not in WITH_PROBABILITIES:
            which = "is a net" if self.estimator in NETS else "gives no probabilities"
            raise InputError(
                f"The frontier is not for {{estimator}}, which {which}: choose from {', '.join(WITH_PROBABILITIES)}, or"
                " train it with another {method} of fairalm train.",
                estimator=self.estimator,
                method=None,
            )
        if self.dual_signal is None:
            object.__setattr__(self, "dual_signal", "crossfit")
        for name in ("eta", "max_iter", "predictor", "dual_signal"):
            if getattr(self, name) is not None and (name, self.dual_signal) != ("dual_signal", "crossfit"):
                raise InputError(
                    f"{{{name}}} is not for {{method}}, which plays no rounds: leave it out.",
                    **{name: None, "method": FRONTIER},
                )
        shares_of(self.make_constraint())  # refuses a constraint that has no frontier

    def _check_method(self) -> None:
        if self.is_adversarial and self.eta is not None:
            raise InputError(f"The method {self.method!r} has no step size: leave {{eta}} out.", eta=None)
        only_for = "mini-batches" if self.is_adversarial else self.make_method().traits.only_for
        if only_for == ("full fits" if self.in_batches else "mini-batches"):
            raise InputError(
                f"{{method}} is not for {{estimator}}, which is {self._trained}: leave it out for the default,"
                f" {default_method(self.estimator)}.",
                method=self.method,
                estimator=self.estimator,
            )
        if self.in_batches and self.dual_signal in ("auto", "crossfit"):
            raise InputError("{dual_signal} is not for nets: choose train or heldout.", dual_signal=self.dual_signal)
        if self.estimator == LAST_LAYER and self.dual_signal == "auto":
            raise InputError("{dual_signal} is for tables: choose heldout or crossfit.", dual_signal="auto")

    def check(self, source: Source) -> None:
        """Refuse a source that does not go with the estimator."""
        if self.reads_images and source.image_column is None:
            raise InputError(
                "{estimator} is for images: name the column with their file paths, {image_column}.",
                estimator=self.estimator,
                image_column=None,
            )
        if self.estimator in NETS:
            self._refuse("weight", "is trained without weights", vars(source))
        if source.attributes != "crossed" and self.estimator in NETS:
            raise InputError(
                "{attributes} is not for {estimator}, which is trained on the crossed groups: leave it out.",
                attributes=source.attributes,
                estimator=self.estimator,
            )
        for name in () if self.reads_images else ("image_column", "image_size", "weights"):
            self._refuse(name, f"reads tables (for images: {', '.join(IMAGE_NETS)})", vars(source) | vars(self))

    def _refuse(self, name: str, reason: str, given: dict[str, Any] | None = None) -> None:
        if (given or vars(self))[name] is not None:
            text = f"{{{name}}} is not for {{estimator}}, which {reason}: leave it out."
            raise InputError(text, **{name: None, "estimator": self.estimator})

    @property
    def in_batches(self) -> bool:
        """Whether the model is a net trained in mini-batches."""
        return self.estimator in NETS and self.estimator != LAST_LAYER

    @property
    def reads_images(self) -> bool:
        """Whether the model reads images."""
        return self.estimator in IMAGE_NETS

    @property
    def is_adversarial(self) -> bool:
        """Whether an adversary is trained along, which is no Method."""
        return self.method == ADVERSARIAL and self.reads_images

    @property
    def is_frontier(self) -> bool:
        """Whether the model is a point of the frontier, which is no Method."""
        return self.method == FRONTIER

    @property
    def _trained(self) -> str:
        return "trained in mini-batches" if self.in_batches else "fitted whole"

    def make_constraint(self, target: Any = None) -> Constraint:
        """The constraint, for this positive label."""
        return make_constraint(self.constraint, self.tol, target)

    def make_method(self) -> Method:
        """The method."""
        return make_method(self.method or default_method(self.estimator), self.eta)

    def to_dict(self) -> dict[str, Any]:
        """The settings for metrics.json, with the constraint and the method by name."""
        method = self.method if self.is_adversarial or self.is_frontier else self.make_method().name
        return vars(self) | {"constraint": self.make_constraint().name, "method": method}


def default_method(estimator: str) -> str:
    """Name of the method that an estimator is trained with by default."""
    backend = LAST_LAYER if estimator == LAST_LAYER else "nn" if estimator in NETS else "sklearn"
    return DEFAULT_METHOD[backend].name


def default_signal(estimator: str) -> str:
    """Where the gap is measured in training by default."""
    return "heldout" if estimator == LAST_LAYER else "train" if estimator in NETS else "auto"
