"""Made-up and real people for the privacy attack, with groups so small that counts are hidden."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity
from fairalm.datasets import load
from tools.attack.worlds import AuditWorld, LabelWorld, RunWorld, World

CONSTRAINTS = (EqualOpportunity(tol=0.05), DemographicParity(tol=0.05), EqualizedOdds(tol=0.1))
CONSTRAINTS += (DemographicParity(ratio=0.8), EqualOpportunity(tol=0.05, reference="a"))
KINDS = 10


def made_up(rng: np.random.Generator, n_worlds: int) -> Iterator[World]:
    """Worlds of each kind in turn: runs, runs with a curve, of two attributes; audits of all sorts and labels."""
    for number in range(n_worlds):
        kind, two = number % KINDS, number % 2 == 1
        frame = _people(rng, two=two)
        columns = ("race", "sex") if two else ("race",)
        if kind < 4:
            constraint = CONSTRAINTS[rng.integers(len(CONSTRAINTS) - two)]
            given: Any = {"constraint": constraint, "has_curve": kind == 2, "is_separate": kind == 3}
            yield RunWorld(frame, columns, ("plain", "fair"), **given)
            continue
        if kind > 7:
            yield _labelled(rng, frame, columns)
            continue
        audited = frame.rename(columns={"plain": "chosen"}).drop(columns=["fair", "split"])
        if kind != 6:
            audited = audited.drop(columns="score")
        if kind < 6:
            audited = audited.drop(columns="y")
        elif two:
            audited.loc[audited.sample(frac=0.03, random_state=number).index, "sex"] = np.nan
        yield AuditWorld(
            audited, columns, ("chosen",), attributes="separate" if number % (2 * KINDS) == KINDS + 5 else "both"
        )


def _labelled(rng: np.random.Generator, frame: pd.DataFrame, columns: tuple[str, ...]) -> World:
    """Decisions of three to five labels about the same people, every other time with outcomes."""
    labels = list("ABCDE")[: rng.integers(3, 6)]
    y = rng.choice(labels, len(frame), p=rng.dirichlet([2.0] * len(labels)))
    own = frame[list(columns)].assign(y=y, chosen=np.where(rng.random(len(frame)) < 0.8, y, rng.choice(labels, len(y))))
    attributes = "separate" if rng.random() < 0.3 else "both"
    kept = own if rng.random() < 0.5 else own.drop(columns="y")
    return LabelWorld(kept, columns, ("chosen",), attributes=attributes)


def _people(rng: np.random.Generator, *, two: bool) -> pd.DataFrame:
    """Two large groups and one or two small ones, with labels, two models, a split and a score."""
    sizes = [*rng.integers(150, 600, 2), *rng.integers(8, 80, rng.integers(1, 3))]
    race = np.repeat(list("abcd")[: len(sizes)], sizes)
    n = len(race)
    y = rng.random(n) < rng.uniform(0.2, 0.6)
    frame = pd.DataFrame({"race": race, "y": y})
    if two:
        frame["sex"] = rng.choice(["F", "M"], n, p=[0.4, 0.6])
    for name in ("plain", "fair"):
        frame[name] = np.where(rng.random(n) < rng.uniform(0.05, 0.3), ~y, y)
    frame["split"] = np.where(rng.random(n) < 0.5, "test", "train")
    frame["score"] = (0.5 * frame["fair"] + 0.5 * rng.random(n)).round(3)
    return frame


def real(seed: int) -> Iterator[World]:
    """German, COMPAS and Adult as shipped, and a sample of the ACS where the data folder has it: a run and an audit."""
    for name, columns in (("german", ["personal_status"]), ("compas", ["race", "sex"]), ("adult", ["race", "sex"])):
        data = load(name)
        features = data.frame.drop(columns=[data.target])
        yield from _judged(features, data.y.astype(bool), columns, seed)
    file = Path(os.environ.get("FAIRALM_DATA", "../shared/data")) / "acs" / "ACSIncome.validation.parquet"
    if file.is_file():
        table = pd.read_parquet(file).sample(6000, random_state=seed)
        table["RAC1P"] = table["RAC1P"].astype(str)
        yield from _judged(table.drop(columns="PINCP"), table["PINCP"].to_numpy().astype(bool), ["RAC1P"], seed)


def _judged(features: pd.DataFrame, y: Any, columns: list[str], seed: int) -> Iterator[World]:
    """Two models of real people: one of all features, and one without the attributes."""
    rng, frame = np.random.default_rng(seed), features[columns].astype(str).reset_index(drop=True).assign(y=y)
    frame["split"] = np.where(rng.random(len(frame)) < 0.7, "train", "test")
    rows = (frame["split"] == "train").to_numpy()
    for name, used in (("plain", features), ("fair", features.drop(columns=columns))):
        X = pd.get_dummies(used.reset_index(drop=True)).astype(float)
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)).fit(X[rows], y[rows])
        frame[name] = model.predict(X).astype(bool)
    frame["score"] = model.predict_proba(X)[:, 1].round(3)
    yield RunWorld(frame, tuple(columns), ("plain", "fair"))
    decided = frame[~rows].rename(columns={"plain": "chosen"}).drop(columns=["fair", "split", "score"])
    yield AuditWorld(decided.reset_index(drop=True), tuple(columns), ("chosen",))
