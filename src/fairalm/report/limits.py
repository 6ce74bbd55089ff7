"""What the figures of these runs do not say."""

from __future__ import annotations

from collections.abc import Sequence

from fairalm.report.runs import Run


def limits(runs: Sequence[Run], *, n_groups: int, is_chosen: bool, is_other: bool) -> list[str]:
    """Sentences about the limits of the method in this case, the weightiest first."""
    first, config = runs[0].metrics, runs[0].metrics["config"]
    n_models = sum(len(run.models) for run in runs)
    said = []
    if len({run.metrics["data"]["fingerprint"] for run in runs}) > 1:
        said.append("These runs are on different data: their points cannot be compared.")
    if len({run.label for run in runs}) > 1 or len({run.metrics["config"]["constraint"] for run in runs}) > 1:
        said.append("These runs differ in label or criterion; all are judged here by those of the first.")
    said.append(
        "Intervals are for these models and this split: 95 of 100 such intervals hold the value for everybody the test"
        " people were drawn from. Training again, on another split, moves the models too."
    )
    if n_models > 2:
        said.append(
            f"There are {n_models} models. The best of many on the same test people looks better than it is; test the"
            " one you take on people that had no part in the choice."
        )
    if is_chosen:
        said.append(
            "NVP goes by the training people here, so that the test people stay out of the choice. Models that fit"
            " their training people too well, as forests do, look fair there."
        )
    if config.get("with_protected"):
        columns = ", ".join(config["protected"])
        said.append(f"The models may use {columns}: whoever uses them must know it of everyone, and be allowed to.")
    if n_groups > 2:
        said.append(
            "With more than two groups, training bounds each group against the mean of all; the gap here is largest"
            " minus smallest, which can be twice as much."
        )
    gap = first.get("training", {}).get("optimality_gap")
    if gap is not None:
        said.append(
            f"Certificate: on the training people no mixture of the classifiers found costs over {100 * gap:.2f} points"
            " less. It says nothing of classifiers that were not found."
        )
    if is_other and not config.get("image_column"):  # of the nets none does either
        said.append(
            "Of the other methods, some draw between models at random and some need the group of everyone they predict."
        )
    said.append("Scores order people; they are no calibrated probabilities.")
    said.append(
        "One criterion is judged here. Others may be violated, and which is right is no question of arithmetic."
    )
    return said
