"""What a search for less discriminatory alternatives is given: the data, and the settings stated beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from fairalm._validation import ATTRIBUTES, check_choice, check_parameter, encode_groups
from fairalm.exceptions import InputError
from fairalm.runs.choices import WITH_PROBABILITIES
from fairalm.runs.samples import Samples
from fairalm.runs.search import Rule
from fairalm.runs.source import Source

MissingOrUnknown = Literal["error", "drop", "group", "unknown"]


@dataclass(frozen=True)
class LdaSource(Source):
    """Which data to search on; `positive` is the favourable label, and rows may lack their group.

    >>> samples = LdaSource("german").read()
    >>> samples.label, samples.with_protected
    ('credit = good', False)
    """

    with_protected: bool | None = False  # a lender may not decide by the protected columns
    missing: MissingOrUnknown = "error"  # type: ignore[assignment]  # "unknown": they count, but for the ratios

    def __post_init__(self) -> None:
        check_parameter("missing", self.missing, get_args(MissingOrUnknown))
        check_parameter("attributes", self.attributes, ATTRIBUTES)
        for name in ("weight", "test", "image_column"):
            if getattr(self, name) is not None:
                raise InputError(f"{{{name}}} is not for a search for alternatives: leave it out.", **{name: None})
        if self.attributes != "crossed":
            raise InputError(
                "{attributes} is not for a search for alternatives, which has one reference group: leave it out.",
                attributes=self.attributes,
            )

    def read(self) -> Samples:
        """Read the table; with ``missing="unknown"``, the code of a row without a group is -1."""
        given = {name: getattr(self, name) for name in Source.__dataclass_fields__}
        if self.missing != "unknown":
            return Source(**given).read()
        samples = Source(**given | {"missing": "group", "merge_below": None}).read()
        columns = samples.data.frame[list(samples.data.protected)]
        return replace(samples, groups=encode_groups(columns, missing="drop", merge_below=self.merge_below))


@dataclass(frozen=True)
class LdaSettings:
    """What to search for, stated before the search.

    >>> LdaSettings(reference="white", acceptance=1.2)
    Traceback (most recent call last):
    ...
    fairalm.exceptions.InputError: acceptance must lie between 0 and 1; got 1.2.
    """

    reference: str | None = None  # group that the others are compared with
    acceptance: float | None = None  # share of all rows that every model accepts; by default the incumbent's
    estimator: Sequence[str] = ("logistic", "boosting")  # those to search with
    ratio: float = 0.8  # the lowest adverse impact ratio to reach
    margin: float = 0.005  # by which the bad rate among the accepted may rise
    incumbent: str | None = None  # column with the present decisions, as labels; not a feature
    choose_size: float = 0.25  # share of the rows that the model is chosen on
    test_size: float = 0.25  # share of the rows that it is judged on, once
    folds: int = 5  # folds of the out-of-fold probabilities
    seed: int = 0  # of the split, the folds and the estimators

    def __post_init__(self) -> None:
        several = (self.estimator,) if isinstance(self.estimator, str) else tuple(dict.fromkeys(self.estimator))
        object.__setattr__(self, "estimator", several)
        if not several:
            raise InputError("{estimator} is empty: name at least one.", estimator=None)
        for name in several:
            check_choice("estimator with probabilities", name, WITH_PROBABILITIES)
        between = {name: getattr(self, name) for name in ("acceptance", "choose_size", "test_size")}
        for name, share in between.items():
            if share is not None and not 0 < share < 1:
                raise InputError(f"{{{name}}} must lie between 0 and 1; got {share}.", **{name: None})
        if not 0 < self.ratio <= 1:
            raise InputError(f"{{ratio}} must be above 0 and at most 1; got {self.ratio}.", ratio=None)
        if not 0 <= self.margin < 1:
            raise InputError(f"{{margin}} must be 0 or more, and below 1; got {self.margin}.", margin=None)
        if self.choose_size + self.test_size >= 1:
            raise InputError(
                f"{{choose_size}} and {{test_size}} leave no row to fit on: together they are"
                f" {self.choose_size + self.test_size:g} of all rows.",
                choose_size=self.choose_size,
                test_size=self.test_size,
            )
        if self.folds < 2:
            raise InputError(f"{{folds}} must be 2 or more; got {self.folds}.", folds=None)
        if self.acceptance is not None and self.incumbent is not None:
            raise InputError(
                "Models are compared at equal acceptance, that of {incumbent}: leave {acceptance} out.",
                incumbent=None,
                acceptance=None,
            )
        if self.acceptance is None and self.incumbent is None:
            raise InputError(
                "Say which share of the rows to accept, with {acceptance}, or name a column of present decisions, with"
                " {incumbent}: models are compared at equal acceptance.",
                acceptance=None,
                incumbent=None,
            )

    @property
    def rule(self) -> Rule:
        """The rule that chooses."""
        return Rule(self.margin, self.ratio)
