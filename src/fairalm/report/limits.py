"""What the figures of a report do not say."""

from __future__ import annotations

from collections.abc import Sequence

from fairalm.report.runs import OTHER_MODEL, RunRecord
from fairalm.report.words import weight_sentence


def limits(runs: Sequence[RunRecord], *, has_nvp: bool) -> list[str]:
    """Sentences about the limits of these runs, the most important first."""
    first, config, rows = runs[0].metrics, runs[0].metrics["config"], runs[0].rows_are
    models = [model for run in runs for model in run.models]
    sentences = []
    if len({run.metrics["data"]["fingerprint"] for run in runs}) > 1:
        sentences.append("These runs are on different data: their points cannot be compared.")
    sentences.append(
        "Intervals are for these models and this split: 95 of 100 such intervals contain the value for everything that"
        f" the test {rows} were drawn from. Training again, on another split, changes the models too."
    )
    if len(models) > 2:
        sentences.append(
            f"There are {len(models)} models. The best of many on the same test {rows} looks better than it is; test"
            f" the one you take on {rows} that had no part in the choice."
        )
    if has_nvp:
        sentences.append(
            f"NVP, a rule for choosing a model, takes the smallest gap among models with at least 0.9 of the best"
            f" accuracy. It chooses by the training {rows} here, so that the test {rows} stay out of the choice. Models"
            " that overfit, as forests do, look fair there."
        )
    if config.get("weight"):
        sentences.append(weight_sentence(config["weight"], rows))
    gap = first.get("training", {}).get("optimality_gap")
    if gap is not None:
        sentences.append(
            f"Certificate: on the training {rows} no mixture of the classifiers found costs over {100 * gap:.2f} points"
            " less. It says nothing about classifiers that were not found."
        )
    certificate = first.get("training", {}).get("certificate")
    if certificate is not None:
        sentences.append(
            f"Certificate: under the estimated probabilities no classifier within the limits costs over"
            f" {100 * certificate:.2f} points less on the training {rows}. It says nothing about how good the"
            " probabilities are."
        )
    if any(model.kind == OTHER_MODEL for model in models) and not config.get("image_column"):  # no net does either
        sentences.append(
            "Of the other methods, some draw between models at random, and some need the group to predict."
        )
    sentences.append(f"Scores rank {rows}; they are not calibrated probabilities.")
    sentences.append(
        "One constraint is judged here. Others may be violated, and arithmetic cannot say which one is right."
    )
    return sentences
