"""The frontier and its peers: error at equal gap on new rows, and time, on six tables.

    python benchmarks/frontier.py --results frontier.csv --write docs/benchmarks/frontier-peers.md \
        --peers-python PEERS/bin/python --linearpost FOLDER
    python benchmarks/frontier.py --rehearse --results rehearsal.csv --tables compas --estimators logistic

The protocol, fixed before any contender was run on test rows (docs/benchmarks/frontier-peers.md):

- Tables: Adult (sex), COMPAS, Law, ACSIncome, ACSPublicCoverage and HMDA (race), with the attribute among the features
  and not. Adult, COMPAS, Law, HMDA: 30 % of the rows are test rows, split by label × group. The survey: fit on rows of
  the file "validation", test on 100,000 rows of the file "test". At most 50,000 rows to fit on.
- Estimators: logistic regression and histogram gradient boosting, at their defaults (max_iter=1000 for the first).
- Every contender is fitted to the same rows with the same estimator, one after the other in one run. The peers that
  post-process get probabilities out of fold (five folds) on the rows to fit, from a model of all these rows on new
  ones; LinearPost gets the very ones of the frontier, mended.
- Tolerances: twenty from 0 to 0.3. Contenders that fit the estimator dozens of times for each tolerance
  (ExponentiatedGradient, FairALMClassifier) get three: 0.01, 0.05, 0.1; their time for twenty is extrapolated.
- Measures: error and gap (largest difference between two groups) on test rows, with a 95 % interval of the gap; the
  floor, the gap that a true gap of 0 shows on as many rows; the error at a test gap of 2, 5 and 10 points (of two
  groups: of the mean signed gap over the seeds), by linear interpolation between neighbours on the curve;
  processor times as multiples of one plain fit, so run it with one thread.
- Nothing is chosen on test rows.

--rehearse takes the new rows from the training rows, too, and never reads a test row. Results are added to the file of
--results after each problem; what is there already is not run again. --peers-python names an interpreter with
error-parity, oxonfair and typing-extensions; --linearpost a copy of the repository uiuctml/fair-classification.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
import pandas as pd
from common import floor, spread, start, write_between
from frontier_contenders import CONSTRAINTS, CONTENDERS, Absent, Given
from frontier_data import ESTIMATORS, LARGE, TABLES, problem
from frontier_tables import markdown

from fairalm import InputError
from fairalm.measures import group_rates, measure_of

CASE = ["rows", "table", "aware", "estimator", "constraint", "seed"]


def measured(p, constraint, chosen, seed):
    """Error, gap with its interval and floor, and for two groups the first group's rate minus the second's.

    `chosen` may be probabilities: error and gap are then expectations, and the interval is that of one draw.
    """
    ours = CONSTRAINTS[constraint][0]()
    drawn = (np.random.RandomState(seed).uniform(size=len(chosen)) < chosen).astype(int)
    interval = measure_of(ours, group_rates(p.y_new, drawn, sensitive_features=p.s_new))
    figures = {
        "error": abs(chosen - p.y_new).mean(),
        "gap": spread(chosen, p.y_new, p.s_new, ours),
        "low": interval.low,
        "high": interval.high,
        "floor": floor(chosen, p.y_new, p.s_new, ours),
    }
    if p.s.max() == 1 and constraint != "equalized odds":
        counted = p.y_new == 1 if constraint == "equal opportunity" else np.ones(len(chosen), dtype=bool)
        figures["signed"] = np.subtract(*(chosen[counted & (p.s_new == g)].mean() for g in (0, 1)))
    return figures


def run(given, case, contender):
    """One row per tolerance."""
    p = given.problem
    curve = CONTENDERS[contender](given, case["constraint"])
    plain = given.plain[1]
    times = {"one": curve.one / plain, "twenty": curve.twenty / plain, "plain seconds": plain}
    return [
        {**case, "contender": contender, "tol": tol, **measured(p, case["constraint"], chosen, p.seed), **times}
        for tol, chosen in zip(curve.tolerances, curve.chosen, strict=True)
    ]


def known(results, case):
    """The contenders whose results for this case are in the file."""
    if results.empty:
        return set()
    same = np.logical_and.reduce([results[key] == value for key, value in case.items()])
    return set(results.loc[same, "contender"])


def run_all(options, chosen):
    """Add what is missing to the file of results, and return all of it for these rows."""
    path, rows = options.results, "rehearsal" if options.rehearse else "test"
    results = pd.read_csv(path) if path.exists() else pd.DataFrame()
    for table, estimator in itertools.product(chosen["tables"], chosen["estimators"]):
        seeds = options.large_seeds if table in LARGE else options.seeds
        for seed, aware in itertools.product(range(seeds), chosen["aware"]):
            given = None
            for constraint in chosen["constraints"]:
                case = dict(zip(CASE, (rows, table, aware, estimator, constraint, seed), strict=True))
                missing = [name for name in chosen["contenders"] if name not in known(results, case)]
                if missing and given is None:
                    try:
                        p = problem(table, aware, estimator, seed, options.rehearse)
                    except (InputError, FileNotFoundError) as reason:
                        print(f"{table} left out: {reason}", flush=True)
                        break
                    given = Given(p, options.peers_python, options.linearpost)
                for name in missing:
                    begin = time.perf_counter()
                    try:
                        new = pd.DataFrame(run(given, case, name))
                    except Absent as reason:
                        print(f"left out: {reason}", flush=True)
                        continue
                    results = pd.concat([results, new], ignore_index=True)
                    results.to_csv(path, index=False)
                    first = new.iloc[0]
                    print(
                        f"{given.problem.title}, {constraint}, seed {seed}, {name}: error {100 * first['error']:.1f},"
                        f" gap {100 * first['gap']:.1f} ({time.perf_counter() - begin:.0f} s)",
                        flush=True,
                    )
    return results[results["rows"] == rows] if len(results) else results


def names(text, known_names, option):
    """The names in a list with commas, or all of them."""
    chosen = list(known_names) if text is None else text.split(",")
    for name in chosen:
        if name not in known_names:
            raise SystemExit(f"{option}: {name!r} is not one of {', '.join(known_names)}")
    return chosen


def main():
    parser = start(__doc__, seeds=5)
    parser.add_argument("--large-seeds", type=int, default=1, help="seeds of the survey's tables and HMDA")
    lists = {"tables": TABLES, "estimators": ESTIMATORS, "contenders": CONTENDERS, "constraints": CONSTRAINTS}
    for name, values in lists.items():
        parser.add_argument(f"--{name}", help=f"some of {','.join(values)}")
    parser.set_defaults(constraints="equal opportunity,demographic parity")
    parser.add_argument("--attribute", choices=("feature", "not", "both"), default="both")
    parser.add_argument("--peers-python", help="interpreter with error-parity and oxonfair")
    parser.add_argument("--linearpost", help="folder of LinearPost's code")
    parser.add_argument("--rehearse", action="store_true", help="use training rows only")
    parser.add_argument("--results", type=Path, required=True, help=".csv file to continue")
    parser.add_argument("--write", type=Path, help="a page with <!-- frontier --> markers")
    options = parser.parse_args()
    if options.rehearse and options.write:
        raise SystemExit("--write is for test rows: leave out --rehearse.")
    chosen = {name: names(getattr(options, name), values, f"--{name}") for name, values in lists.items()}
    chosen["aware"] = {"feature": [True], "not": [False], "both": [False, True]}[options.attribute]
    text = markdown(run_all(options, chosen))
    print(f"\n{text}")
    if options.write:
        write_between(options.write, "frontier", text)


if __name__ == "__main__":
    main()
