"""COMPAS: who was charged with a new crime within two years, in ProPublica's table."""

from __future__ import annotations

import os

import pandas as pd

from fairalm.datasets._dataset import Dataset
from fairalm.datasets._files import DataDir, find, read_official, read_shipped, typed

COUNTS = ("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count")
FEATURES = ("sex", *COUNTS, "c_charge_degree")
SCORES = ("decile_score", "v_decile_score")
USED = (*FEATURES, "race", *SCORES, "two_year_recid")
FILTER = ("days_b_screening_arrest", "is_recid", "score_text")
DESCRIPTION = (
    "The label says that a person was charged with a new crime within two years of being screened, in Broward"
    " County, Florida, 2013-2014. Being charged is not the same as having done it. Court records gathered by"
    " ProPublica (github.com/propublica/compas-analysis), which names no licence."
)


def load_compas(data_dir: DataDir = None, *, all_races: bool = False, with_scores: bool = False) -> Dataset:
    """Load COMPAS: which of 5,278 defendants were charged with a new crime within two years.

    47.0 % were (label ``two_year_recid``, positive 1). Protected is ``race``: 3,175 African-Americans of whom
    52.3 %, and 2,103 Caucasians of whom 39.1 % are positive. The label records charges, and so where the
    police look; it does not record crimes.

    Of ProPublica's 7,214 rows, 6,172 pass the filter of its analysis: screened within 30 days of the arrest,
    the case found (``is_recid`` not -1), no ordinary traffic offence (``c_charge_degree`` not "O"), a score
    given. 5,278 of those are of the two races.

    Left out is all that is known only afterwards (``is_recid``, ``r_*``, ``vr_*``, ``violent_recid``,
    ``is_violent_recid``, ``event``, ``start``, ``end``, dates in jail), ``age_cat``, which is computed from
    ``age``, the wording of the charge, and the scores, which are another model's answer. Nothing is missing
    in what is kept.

    Parameters
    ----------
    data_dir : path, optional
        As in :func:`load_adult`; the official file is ProPublica's compas-scores-two-years.csv.
    all_races : bool
        Keep all six races (6,172 rows).
    with_scores : bool
        Add COMPAS's own ``decile_score`` and ``v_decile_score`` (violence) to the features.

    Examples
    --------
    >>> data = load_compas()
    >>> data.X.shape, round(float(data.y.mean()), 3)
    ((5278, 7), 0.47)
    >>> load_compas(all_races=True).groups.nunique()
    6
    """
    text = read_shipped("compas") if data_dir is None else read_raw(data_dir)
    if not all_races:
        text = text[text["race"].isin(["African-American", "Caucasian"])]
    frame = typed(text, (*COUNTS, *SCORES, "two_year_recid"))
    if not with_scores:
        frame = frame.drop(columns=list(SCORES))
    features = (*FEATURES, *SCORES) if with_scores else FEATURES
    return Dataset("compas", frame, "two_year_recid", 1, ("race",), features, DESCRIPTION)


def read_raw(data_dir: str | os.PathLike[str]) -> pd.DataFrame:
    """Columns used, as text, of the rows that pass ProPublica's filter."""
    frame = read_official(find(data_dir, "compas-scores-two-years.csv"), (*USED, *FILTER), header=True)
    kept = (
        pd.to_numeric(frame["days_b_screening_arrest"]).between(-30, 30)
        & (frame["is_recid"] != "-1")
        & (frame["c_charge_degree"] != "O")
        & (frame["score_text"] != "N/A")
    )
    return frame.loc[kept, list(USED)].reset_index(drop=True)
