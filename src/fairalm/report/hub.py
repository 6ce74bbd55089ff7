"""The metadata of a model card, as the Hugging Face hub reads it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from fairalm.exceptions import FairALMWarning
from fairalm.plain_text import plain


def metadata(facts: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    """The YAML between two lines of dashes; nothing, and a warning, without huggingface_hub.

    Error and gap on the test rows are results, with their 95 % intervals as arguments of the metric.
    """
    try:
        from huggingface_hub import EvalResult, ModelCardData
    except ImportError:
        text = 'the card has no metadata for the Hugging Face hub: pip install "fairalm[hub]" adds it.'
        warnings.warn(FairALMWarning(text), stacklevel=3)
        return ""
    task, constraint = facts["task"], facts["constraint"]
    measured = (("error", "error", model["error"]), (constraint["key"], constraint["title"], model["gap"]))
    results = [
        EvalResult(
            task_type=task,
            dataset_type="tabular" if task.startswith("tabular") else "image",
            dataset_name=plain(facts["people"]["name"]),
            dataset_split="test",
            metric_type=plain(key),
            metric_name=plain(f"test {title}"),
            metric_value=round(figure["value"], 5),
            metric_args={end: round(figure[end], 5) for end in ("low", "high") if figure[end] is not None},
        )
        for key, title, figure in measured
        if figure["value"] is not None
    ]
    name = plain(facts["runs"][model["run"]]["name"])
    named: Any = {"model_name": name, "eval_results": results} if results else {}  # the hub refuses no results
    tags = ["fairness", "fairalm", plain(constraint["name"])]
    data = ModelCardData(library_name="fairalm", pipeline_tag=task, tags=tags, **named)
    return f"---\n{data.to_yaml()}\n---"
