"""The paper's theory, checked by running: its lemmas, its theorem, and what the theorem leaves open."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pandas as pd

from fairalm.arrays import IntArray
from fairalm.constraints import DemographicParity, EqualOpportunity
from fairalm.runs.metrics import metrics
from reproduction.experiment import Block, Experiment, Job, Results, Table
from reproduction.options import Option, whole
from reproduction.theory import checks
from reproduction.theory.curves import draw, lengths, saddle_curves, slopes
from reproduction.theory.families import Family, Models, adult_models, random_game, slow_game, smooth_family
from reproduction.theory.findings import cancellation, jensen, last_play, leash, per_classifier

EVERY, CHECKED, PER_DECADE = 1000, 10_000, 40  # every T up to the first, then so many a decade up to the second
GAPS = {"augmented": "L_T", "original": "the game itself"}  # whose saddle gap is measured


@dataclass(frozen=True)
class PartJob(Job):
    """A part of the theory on models of Adult, on random games and on a made-up one."""

    part: str  # a key of CHECKS or CURVES, or "findings"
    rounds: int  # the largest T of the curves
    models: int
    games: int
    seed: int
    rows: int | None

    @property
    def name(self) -> str:
        """Its name, with the settings: other ones in the same folder are other jobs."""
        return "-".join(str(value) for value in self.config.values() if value is not None)

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        if self.part in CHECKS:
            return {"checks": [asdict(check) for check in CHECKS[self.part](self)]}
        if self.part in CURVES:
            family = CURVES[self.part](self)
            return {"curves": saddle_curves(family, self.rounds).to_dict("list"), "largest": family.largest}
        findings = [leash(self.parity, self.rounds), last_play(self.opportunity, self.rounds)]
        findings += [per_classifier(self.adult), cancellation(self.adult), jensen(self.adult)]
        return {"findings": [finding._asdict() for finding in findings], "rows": len(self.adult.positive)}

    @property
    def adult(self) -> Models:
        return adult_models(self.models, self.rows, self.seed)

    @property
    def opportunity(self) -> Family:
        return self.adult.family(EqualOpportunity())

    @property
    def parity(self) -> Family:
        return self.adult.family(DemographicParity())

    @cached_property
    def drawn(self) -> tuple[list[Family], np.random.Generator]:
        """The random games, and the generator after they were drawn."""
        rng = np.random.default_rng(self.seed)
        return [random_game(rng, name=f"random game {i}") for i in range(self.games)], rng

    @property
    def families(self) -> list[Family]:
        return [self.opportunity, self.parity, *self.drawn[0], slow_game()]

    @property
    def checked(self) -> IntArray:
        """The T at which the theorem is checked."""
        sparse = lengths(min(self.rounds, CHECKED), per_decade=PER_DECADE)
        return np.union1d(np.arange(1, min(self.rounds, EVERY) + 1), sparse)


CHECKS: dict[str, Callable[[PartJob], Iterable[checks.Check]]] = {
    "lemma": lambda job: checks.check_reward(job.families, min(job.rounds, EVERY)),
    "first-case": lambda job: checks.check_first_case(job.families, job.checked),
    "second-case": lambda job: checks.check_second_case(job.families, job.checked),
    "lemma-1": lambda job: [checks.check_lemma_1(job.families), *checks.check_observation_1(job.adult, job.drawn[1])],
}
CURVES: dict[str, Callable[[PartJob], Family]] = {
    "curves-parity": lambda job: job.parity,
    "curves-opportunity": lambda job: job.opportunity,
    "curves-parabola": lambda job: smooth_family(),
}
DRAWN = "curves-parity"  # its constraint costs error


@dataclass(frozen=True)
class Theory(Experiment):
    """Check the paper's lemmas and its theorem by running Algorithm 1.

    The games are logistic models of Adult under equal opportunity and under demographic parity, random games, and a
    made-up one for which Algorithm 1 needs many rounds.

    Written are, in about three minutes: a table of the claims, whether each held, and where it came closest to failing
    or failed most; what the theorem leaves open, in sentences; theory.json with all of that, theory.csv with the
    measured saddle gaps, and theory.png, their figure. A claim that fails is a finding, not an error: the exit code
    is 0.

    For example:
      python -m reproduction theory
      python -m reproduction theory --rounds 10000 --models 100 -o theory
    """

    rounds: Annotated[int, Option("Most rounds, for the figure.", whole(10, 10_000_000), "T", 1000)] = 100_000
    models: Annotated[int, Option("Logistic models of Adult.", whole(2), quick=20)] = 300
    games: Annotated[int, Option("Random games.", whole(0), quick=5)] = 20
    seed: Annotated[int, Option("The same seed gives the same result.", whole(0, 2**32 - 1))] = 0
    rows: Annotated[int | None, Option("Use fewer rows of Adult.", whole(2001))] = None

    def jobs(self) -> list[PartJob]:
        settings = self.rounds, self.models, self.games, self.seed, self.rows
        return [PartJob(part, *settings) for part in (*CHECKS, *CURVES, "findings")]

    def frames(self, results: Results) -> dict[str, pd.DataFrame]:
        tables = [pd.DataFrame(result["curves"]) for result in results if "curves" in result]
        return {"theory": pd.concat(tables, ignore_index=True)} if tables else {}

    def facts(self, results: Results) -> dict[str, Any]:
        rows = next((result["rows"] for result in results if "rows" in result), None)
        return metrics(
            data={"name": "adult", "rows": rows},
            config={name: getattr(self, name) for name in ("rounds", "models", "games", "seed")},
            splits={},
            checks=[check for result in results for check in result.get("checks", ())],
            findings=[finding for result in results for finding in result.get("findings", ())],
            slopes=[row for table in self.frames(results).values() for row in slopes(table).to_dict("records")],
        )

    def files(self, results: Results) -> dict[str, Any]:
        return {"theory.json": self.facts(results)}

    def figures(self, results: Results) -> Iterator[tuple[str, Any]]:
        for result in results:
            if result["config"]["part"] == DRAWN:
                yield "theory.png", draw(pd.DataFrame(result["curves"]), result["largest"])

    def text(self, results: Results) -> Iterator[Block]:
        facts = self.facts(results)
        claims = [
            (c["name"], c["where"], "yes" if c["holds"] else "fails", f"{c['measured']:.2g}", f"{c['bound']:.2g}")
            for c in facts["checks"]
        ]
        yield Table(["claim", "closest, or worst, at", "holds?", "measured", "bound"], claims, left=2)
        yield ""
        more = f", then {PER_DECADE} a decade up to {min(self.rounds, CHECKED):,}" if self.rounds > EVERY else ""
        yield f"T: every one up to {min(self.rounds, EVERY):,}{more}."
        for finding in facts["findings"]:
            yield from ("", finding["text"])
        yield ""
        rows = [
            (f"{row['family']}: {row['step']}", *("" if math.isnan(row[name]) else f"{row[name]:.2f}" for name in GAPS))
            for row in facts["slopes"]
        ]
        yield Table(["exponent of T, last two decades", *GAPS.values()], rows)
        yield ""
