"""The names of compared methods, and their footnotes."""

from __future__ import annotations

from fairalm.methods import DEFAULT_METHOD
from fairalm.runs import Comparison
from fairalm.runs.comparison import GRADIENT, THRESHOLD, has_fairlearn

DEFAULT = DEFAULT_METHOD["sklearn"].name
FAIRLEARN = {
    GRADIENT: "fairlearn's ExponentiatedGradient, a random mixture of models",
    THRESHOLD: "fairlearn's ThresholdOptimizer",
}


def marked(method: str, *, constant: bool) -> str:
    """Name of a method with its footnote marks."""
    return method + "*" * (method == THRESHOLD) + "!" * constant


def footnotes(done: Comparison) -> list[str]:
    """The default method, fairlearn's algorithms, and what the marks mean."""
    methods = {result.method for result in done.results}
    notes = [f"{DEFAULT}: the default of fairalm, untuned."] if DEFAULT in methods else []
    notes += [f"{method}: {words}." for method, words in FAIRLEARN.items() if method in methods]
    if THRESHOLD in methods:
        columns = ", ".join(done.samples.data.protected)
        others = f"so do the others here, which use {columns}" if done.samples.with_protected else "the others do not"
        notes.append(f"* has a threshold per group and needs the protected attribute to predict; {others}.")
    if any(result.is_constant for result in done.results):
        notes.append("! predicts (nearly) the same label for everyone: such a model has no gap, and no use.")
    if not has_fairlearn():
        notes.append('fairlearn is not installed: pip install "fairalm[compare]" adds its two algorithms.')
    return notes
