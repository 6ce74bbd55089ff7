"""LightGBM: the game is played in a callback of the user's own LGBMClassifier.

LightGBM's objective reads weights and labels from the training set in every round. Changing them there is all that is
needed: the objective, the first score and the model file stay LightGBM's own.
"""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
from lightgbm.callback import EarlyStopException
from sklearn.base import clone

from fairalm.arrays import FloatArray
from fairalm.boost.game import Answer, BoostGame
from fairalm.exceptions import InputError

NEARLY_ONE = float(np.nextafter(np.float32(1), np.float32(0)))  # LightGBM takes weights that are all 1 for none
ROUNDS = {"num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round", "num_rounds", "nrounds"}
ROUNDS |= {"num_boost_round", "max_iter"}  # other names of n_estimators
BOOSTING = ("gbdt", "goss")  # the others weigh trees anew that are already there


class Engine:
    """Boosts an LGBMClassifier, with LightGBM's own settings if none is given."""

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = lightgbm.LGBMClassifier(verbose=-1) if estimator is None else estimator
        if not isinstance(self.estimator, lightgbm.LGBMClassifier):
            raise InputError(f"`estimator` must be an LGBMClassifier; got {self.estimator!r}.")
        settings = self.estimator.get_params()
        boosting, objective = settings.get("boosting", settings["boosting_type"]), settings["objective"]
        if boosting not in BOOSTING:
            raise InputError(f"The boosting_type of LightGBM must be 'gbdt' or 'goss' here; got {boosting!r}.")
        if aliases := sorted(ROUNDS & set(settings)):
            raise InputError(f"The rounds of LightGBM must be given as n_estimators here; got {aliases[0]!r}.")
        if objective not in (None, "binary"):
            raise InputError(f"The objective of LightGBM must be 'binary' or left out here; got {objective!r}.")

    @property
    def n_rounds(self) -> int:
        """Rounds at most."""
        return int(self.estimator.n_estimators)

    def boost(self, X: Any, y: Any, weight: FloatArray, game: BoostGame, sign: int) -> Any:
        """The fitted classifier. With a `sign` of -1 its first class is the target."""
        callbacks = _Callbacks(game, sign)
        model = clone(self.estimator)
        if "metric" not in model.get_params():
            model.set_params(metric="None")  # else LightGBM's own would be computed whenever the scores are read
        return model.fit(X, y, sample_weight=weight * NEARLY_ONE, callbacks=callbacks.both)

    @staticmethod
    def booster(model: Any) -> Any:
        """The part that the library's own code saves and loads."""
        return model.booster_


class _Callbacks:
    """Before the first round: keep the training set as it is, and set its weights. After each: play."""

    def __init__(self, game: BoostGame, sign: int) -> None:
        self.game, self.sign = game, sign
        self.weight: Any = None  # with the user's class weights
        self.label: Any = None

    @property
    def both(self) -> list[Any]:
        """As LightGBM takes them."""

        def before_first(env: Any) -> None:
            if env.iteration == env.begin_iteration:
                rows = env.model.train_set
                self.weight, self.label = rows.get_field("weight").copy(), rows.get_field("label").copy()
                self.set(rows, self.game.start())

        before_first.before_iteration = True  # type: ignore[attr-defined]
        return [before_first, self.after]

    def set(self, rows: Any, answer: Answer) -> None:
        """Change what the next round is fitted to."""
        rows.set_field("weight", self.weight * answer.factor)
        if answer.flipped is not None:
            rows.set_field("label", np.where(answer.flipped, 1.0 - self.label, self.label))

    def after(self, env: Any) -> None:
        """Measure a round and answer it."""
        if self.game.measures:
            score = self.sign * (_probability(env.model) - 0.5)
            self.set(env.model.train_set, self.game.play(score > 0))
        else:
            self.game.skip()
        if self.game.is_over:
            raise EarlyStopException(self.game.best_round - 1, [])


def _probability(booster: Any) -> FloatArray:
    """Of the second class, for the training rows; LightGBM keeps their scores and shows them to its metrics only."""
    seen: list[FloatArray] = []

    def keep(probability: FloatArray, _: Any) -> tuple[str, float, bool]:
        seen.append(probability)
        return "", 0.0, False

    booster.eval_train(keep)
    return seen[0]
