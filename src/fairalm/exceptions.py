"""Errors and warnings of our own, so that a caller can tell them from everyone else's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def as_keyword(parameter: str, value: Any) -> str:
    """A parameter as Python code spells it.

    >>> as_keyword("missing", "drop"), as_keyword("merge_below", None)
    ("missing='drop'", 'merge_below')
    """
    shown = "..." if value is ... else repr(value)
    return parameter if value is None else f"{parameter}={shown}"


class _Message(Exception):
    """A sentence that may name parameters, so that each interface can spell them its own way.

    Parameters
    ----------
    text : str
        The sentence. ``{name}`` stands for the parameter `name`.
    **parameters
        The parameters named in the text, each with the value to show; None for the name alone, ... for "name=...".

    Examples
    --------
    >>> error = InputError("2 rows have no group: fill them, or pass {missing}.", missing="drop")
    >>> str(error)
    "2 rows have no group: fill them, or pass missing='drop'."
    >>> error.spelled(lambda parameter, value: f"--{parameter} {value}")
    '2 rows have no group: fill them, or pass --missing drop.'
    """

    def __init__(self, text: str, **parameters: Any) -> None:
        self.text, self.parameters = text, parameters
        super().__init__(self.spelled(as_keyword))

    def spelled(self, spell: Callable[[str, Any], str]) -> str:
        """The sentence, with each parameter written by ``spell(name, value)``."""
        sentence = self.text
        for name, value in self.parameters.items():
            sentence = sentence.replace(f"{{{name}}}", spell(name, value))
        return sentence

    def __reduce__(self) -> Any:
        return _remade, (type(self), self.text, self.parameters)


def _remade(kind: type[_Message], text: str, parameters: dict[str, Any]) -> _Message:
    return kind(text, **parameters)


class InputError(_Message, ValueError):
    """The data or a setting cannot be used; the message says what is wrong, what was passed and what to do."""


class VersionError(InputError):
    """A model was saved by a version of scikit-learn whose models are not known to predict the same here."""


class FairALMWarning(_Message, UserWarning):
    """Base of all warnings raised here."""


class ToleranceWarning(FairALMWarning):
    """Training ended with a gap above the tolerance."""


class ConstantModelWarning(FairALMWarning):
    """The fair model predicts (nearly) one class while the plain model does not."""


class NoBetterThanConstantWarning(FairALMWarning):
    """The fair model makes no fewer mistakes than predicting the same for every row."""


class LevellingDownWarning(FairALMWarning):
    """The gap closed because every group is predicted the target less often than by the plain model."""


class OptimalityWarning(FairALMWarning):
    """A mixture of the models found is within the tolerance at clearly less error than the model returned."""


class ColumnWarning(FairALMWarning):
    """A column that a model should perhaps not see: a row number, or one that reveals the protected attribute."""


class SmallCellWarning(FairALMWarning):
    """A cell (event × group) holds too few rows to judge."""


class NoStepWarning(FairALMWarning):
    """A constrained loss was used for many batches without its dual step."""
