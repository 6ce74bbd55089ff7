"""What came of a search for less discriminatory alternatives: its log, its table and its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fairalm.arrays import IntArray
from fairalm.files import LDA, AnyPath, write_csv, write_json
from fairalm.folders import new_folder
from fairalm.manifest import write_manifest
from fairalm.measures import Measure
from fairalm.models_io import save
from fairalm.runs.lda_settings import LdaSettings
from fairalm.runs.lending import Figures, LoanChanges
from fairalm.runs.metrics import data_entry, metrics, verdict
from fairalm.runs.run import MODEL
from fairalm.runs.samples import Samples
from fairalm.runs.search import Tried

SCHEMA = 1
Verdict = Literal["found", "not confirmed", "none"]


@dataclass(frozen=True, eq=False)
class Lda:
    """A search for less discriminatory alternatives and its result.

    `tried` is everything that was tried, with its figures on the choosing rows; `judged` has the figures of the
    baseline and of the chosen model on the judging rows, and `judged_changes` their differences. `chosen` is None if no
    model was admissible.
    """

    samples: Samples
    rows: Mapping[str, IntArray]  # fit, choose, judge
    settings: LdaSettings
    config: dict[str, Any]
    tried: tuple[Tried, ...]
    baseline: Tried
    reasons: Mapping[int, str]  # of each tried model but the baseline: why it is not admissible, "" if it is
    changes: Mapping[int, LoanChanges]  # of each tried model, on the choosing rows
    chosen: Tried | None
    judged: Mapping[str, Figures]
    judged_changes: LoanChanges | None
    smallest: Mapping[str, int]  # of each group, the fewest rows that a model accepts or refuses, unless none
    acceptance: float
    command: str = ""

    @cached_property
    def group(self) -> str:
        """The group that the baseline treats worst on the choosing rows."""
        assert self.baseline.figures is not None
        return self.baseline.figures.worst

    @property
    def verdict(self) -> Verdict:
        """Whether an alternative was found, and whether the judging rows confirm it."""
        if self.chosen is None or self.judged_changes is None:
            return "none"
        loss, gain = self.judged_changes.bad_rate, self.judged_changes.ratios[self.group]
        is_within = loss.high is not None and loss.high <= self.settings.margin
        return "found" if is_within and gain.low is not None and gain.low > 0 else "not confirmed"

    @property
    def goal(self) -> str:
        """Whether the lowest ratio on the judging rows reaches the goal: "met", "not met" or "cannot tell"."""
        which = "baseline" if self.chosen is None else "chosen"
        ratio = self.judged[which].ratio
        if ratio.value is None or ratio.low is None or ratio.high is None:
            return "undefined"
        short = Measure("shortfall", 1 - ratio.value, 1 - ratio.high, 1 - ratio.low, ratio.n, ratio.n_min)
        return verdict(short, 1 - self.settings.ratio)

    @property
    def log(self) -> pd.DataFrame:
        """One row for each model that was tried, with its figures on the choosing rows."""
        return pd.DataFrame([self._logged(number, tried) for number, tried in enumerate(self.tried)])

    def _logged(self, number: int, tried: Tried) -> dict[str, Any]:
        role = "baseline" if tried is self.baseline else "chosen" if tried is self.chosen else ""
        row: dict[str, Any] = {"model": number, "role": role, "estimator": tried.estimator, "settings": tried.settings}
        row |= {"ratio asked": tried.asked, "bad rate bound": tried.bad_rate_bound}
        row["why not"] = self.reasons.get(number, "")
        named = {} if tried.figures is None else tried.figures.named
        if tried.searched is not None:
            named = named | {"ratio, all rows searched": tried.searched}
        if number in self.changes:
            named = named | {f"change of {name}": change for name, change in self.changes[number].named.items()}
        for name, measure in named.items():
            row |= {name: measure.value, f"{name} low": measure.low, f"{name} high": measure.high}
        return row

    @property
    def table(self) -> pd.DataFrame:
        """The figures of the baseline and the chosen model, and their differences, on the judging rows."""
        parts: dict[str, Mapping[str, Measure]] = {name: own.named for name, own in self.judged.items()}
        if self.judged_changes is not None:
            parts["change"] = self.judged_changes.named
        return pd.DataFrame(
            {"model": model, "measure": name, "value": own.value, "low": own.low, "high": own.high, "rows": own.n}
            for model, measures in parts.items()
            for name, own in measures.items()
        )

    @property
    def bounds(self) -> list[dict[str, Any]]:
        """Per estimator, what its probabilities prove: the bad rate without a limit, and at least, at the ratio asked.

        ``within`` is the highest ratio asked whose bound is at most the margin above the first.
        """
        proved = []
        for name in self.settings.estimator:
            own = [tried for tried in self.tried if tried.estimator == name and tried.bad_rate_bound is not None]
            bounds = {tried.asked: tried.bad_rate_bound for tried in own if tried.bad_rate_bound is not None}
            least = bounds[None]
            within = [r for r, bound in bounds.items() if r is not None and bound <= least + self.settings.margin]
            at = bounds.get(self.settings.ratio, least)  # not asked where the model without a limit has it
            proved.append({"estimator": name, "no_limit": least, "at_ratio": at, "within": max(within, default=None)})
        return proved

    def to_dict(self) -> dict[str, Any]:
        """The content of lda.json."""
        samples = self.samples
        data = data_entry(samples.data.name, samples.data.frame, samples.labels, samples.groups)
        sizes = {name: len(rows) for name, rows in self.rows.items()}
        unknown = int((samples.groups.codes < 0).sum())
        content = metrics(
            command=self.command,
            data=data | sizes | {"dropped": samples.n_dropped, "unknown": unknown},
            config=self.config,
            verdict=self.verdict,
            goal=self.goal,
            acceptance=self.acceptance,
            group=self.group,
            baseline=self.baseline.name,
            chosen=None if self.chosen is None else self.chosen.name,
            splits={
                "choose": self.log.to_dict("records"),
                "judge": {model: _listed(own.named) for model, own in self.judged.items()},
            },
            changes=None if self.judged_changes is None else _listed(self.judged_changes.named),
            bounds=self.bounds,
            smallest=self.smallest,
        )
        return content | {"schema": SCHEMA}

    def save(self, folder: AnyPath, *, overwrite: bool = False) -> None:
        """Write a folder, whole or not at all: lda.json, log.csv, table.csv, config.json, and model.skops if found."""
        with self.saving(folder, overwrite=overwrite):
            pass

    @contextmanager
    def saving(self, folder: AnyPath, *, overwrite: bool = False) -> Iterator[Path]:
        """:meth:`save`, with a block that may write more files into the folder before it is complete."""
        with new_folder(folder, overwrite=overwrite) as part:
            if self.chosen is not None and self.verdict == "found":
                save(self.chosen.model, part / MODEL)
            write_json(part / "config.json", self.config)
            write_csv(part / "log.csv", self.log)
            write_csv(part / "table.csv", self.table)
            content = self.to_dict()
            write_json(part / LDA, content)
            yield part
            fingerprint = content["data"]["fingerprint"]
            write_manifest(part, data=fingerprint, settings=self.config, seed=self.config["seed"], split=self.rows)


def _listed(named: Mapping[str, Measure]) -> dict[str, Any]:
    return {name: measure.to_dict() for name, measure in named.items()}
