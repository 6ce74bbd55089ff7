"""Errors and warnings of our own, so that a caller can tell them from everyone else's."""


class InputError(ValueError):
    """The data or a setting cannot be used; the message says what came and what to do."""


class FairALMWarning(UserWarning):
    """Base of all warnings raised here."""


class ToleranceWarning(FairALMWarning):
    """Training ended with a gap above the tolerance."""


class ConstantModelWarning(FairALMWarning):
    """The fair model predicts (nearly) one class while the plain model does not."""


class SmallCellWarning(FairALMWarning):
    """A cell (event × group) holds too few people to judge."""
