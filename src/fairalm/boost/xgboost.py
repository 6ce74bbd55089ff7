"""XGBoost: the game is played between the rounds of its own training loop.

XGBoost's objective reads weights and labels from the matrix in every round. Changing them there is all that is needed:
the objective, the base score and the model file stay XGBoost's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xgboost
from sklearn.base import clone

from fairalm.arrays import FloatArray
from fairalm.boost.game import Answer, BoostGame
from fairalm.exceptions import InputError

N_ESTIMATORS = 100  # XGBClassifier's own if it is left out
OBJECTIVE = "binary:logistic"


class Engine:
    """Boosts an XGBClassifier, with XGBoost's own settings if none is given."""

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = xgboost.XGBClassifier() if estimator is None else estimator
        if not isinstance(self.estimator, xgboost.XGBClassifier):
            raise InputError(f"`estimator` must be an XGBClassifier; got {self.estimator!r}.")
        settings = self.estimator.get_xgb_params()
        booster, objective = settings["booster"], settings["objective"]
        if booster not in (None, "gbtree"):
            raise InputError(f"The booster of XGBoost must be 'gbtree' or left out here; got {booster!r}.")
        if objective not in (None, OBJECTIVE):
            raise InputError(f"The objective of XGBoost must be {OBJECTIVE!r} or left out here; got {objective!r}.")

    @property
    def n_rounds(self) -> int:
        """Rounds at most."""
        return int(self.estimator.n_estimators or N_ESTIMATORS)

    def boost(self, X: Any, y: Any, weight: FloatArray, game: BoostGame, sign: int) -> Any:
        """The fitted classifier, whose labels are 0 and 1. With a `sign` of -1 the first class is the target."""
        model = clone(self.estimator)
        settings = {name: value for name, value in model.get_xgb_params().items() if value is not None}
        label = (y == np.unique(y)[1]).astype(np.float32)
        rows = self._matrix(X, label, weight)

        def change(answer: Answer) -> None:
            rows.set_weight(weight * answer.factor)
            if answer.flipped is not None:
                rows.set_label(np.where(answer.flipped, 1.0 - label, label))

        change(game.start())
        booster = xgboost.Booster({**settings, "objective": OBJECTIVE}, [rows])
        while not game.is_over:
            booster.update(rows, game.t)
            if game.measures:
                change(game.play(sign * (booster.predict(rows) - 0.5) > 0))
            else:
                game.skip()
        model.load_model(booster[: game.best_round].save_raw())
        return model

    def _matrix(self, X: Any, label: Any, weight: FloatArray) -> Any:
        given = self.estimator
        settings: dict[str, Any] = {"missing": given.missing, "feature_types": given.feature_types}
        settings |= {"enable_categorical": given.enable_categorical, "nthread": given.n_jobs}
        if given.tree_method in (None, "auto", "hist"):
            return xgboost.QuantileDMatrix(X, label, weight=weight, max_bin=given.max_bin, **settings)
        return xgboost.DMatrix(X, label, weight=weight, **settings)

    @staticmethod
    def booster(model: Any) -> Any:
        """The part that the library's own code saves and loads."""
        return model.get_booster()
