"""Boosting from inside: what a fair LightGBM or XGBoost costs in time and error, and its gap on new rows.

    OMP_NUM_THREADS=1 python benchmarks/boosting.py [--tables adult,income,race] [--models NAME,NAME] [--rehearse]
        [--fairgbm-python PATH] [--csv FILE] [--write docs/benchmarks/boosting.md]

The protocol, fixed before the test rows below were looked at:

- Equal opportunity, tol 0.01. LightGBM with its defaults (100 rounds, 31 leaves), XGBoost with 100 rounds of depth 6
  and the same learning rate of 0.1, one thread. Categorical columns stay categorical.
- adult: sex, a feature. 70 % of the rows to fit, splits 100 to 109 (the code was written on parts of the training rows
  of splits 0 to 23). income: ACSIncome by sex, a feature: fit on the 332,900 rows of the file "validation", test on
  those of the file "test", which was not read before. race: the same files by race in four groups, not a feature.
- Test error, largest difference of the groups' true positive rates, and its floor: the mean of that difference by
  chance, if all groups had the same rate. On Adult, means over the splits.
- Time: processor time of a fit over that of the plain fit of the same library, the two run one after the other; the
  median over the splits, or over three fits on ACSIncome (one fit for those that take over three plain fits).
- FairGBM (Cruz et al., ICLR 2023) is a fork of LightGBM 3 that needs an older scikit-learn: another interpreter fits
  it, and a plain model of that fork for the time. Its defaults, with its false negative rates' slack at tol.
- A rehearsal takes new rows from the rows to fit and compares the settings that the defaults were chosen from.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from common import start, write_between
from lightgbm import LGBMClassifier
from promise import floor, races, spread
from xgboost import XGBClassifier

from fairalm import EqualOpportunity, FairALMClassifier, FrontierClassifier, PIControl
from fairalm.boost import FairLGBMClassifier, FairXGBClassifier
from fairalm.datasets import load_adult, split

SPLITS, REHEARSALS, REPEATS, SLOW = range(100, 110), range(10), 3, 3.0
TOL = EqualOpportunity(tol=0.01)
FAIRGBM = """
import sys, time
import numpy as np
from fairgbm import FairGBMClassifier, LGBMClassifier
given = np.load(sys.argv[1])
X, y, s, settings = given["X"], given["y"], given["s"], {"n_jobs": 1, "verbose": -1}
columns = {"categorical_feature": given["categories"].tolist()}
begin = time.process_time()
LGBMClassifier(**settings).fit(X, y, **columns)
plain = time.process_time() - begin
model = FairGBMClassifier(constraint_type="FNR", constraint_fnr_threshold=float(given["tol"]), **settings)
begin = time.process_time()
model.fit(X, y, constraint_group=s, **columns)
np.savez(sys.argv[2], chosen=model.predict(given["X_new"]), times=(time.process_time() - begin) / plain)
"""


def lightgbm():
    return LGBMClassifier(n_jobs=1, verbose=-1)


def xgboost():
    return XGBClassifier(n_estimators=100, max_depth=6, learning_rate=0.1, enable_categorical=True, n_jobs=1)


def fair(kind, base, **settings):
    return lambda: kind(base(), constraint=TOL, random_state=0, **settings)


#: name: (plain model that its time is compared with, model)
CONTENDERS = {
    "LightGBM": (lightgbm, lightgbm),
    "FairLGBMClassifier": (lightgbm, fair(FairLGBMClassifier, lightgbm)),
    "FairALMClassifier(LGBMClassifier())": (lightgbm, fair(FairALMClassifier, lightgbm)),
    "FrontierClassifier(LGBMClassifier())": (lightgbm, fair(FrontierClassifier, lightgbm)),
    "XGBoost": (xgboost, xgboost),
    "FairXGBClassifier": (xgboost, fair(FairXGBClassifier, xgboost)),
}
SETTINGS = {
    "LightGBM": (lightgbm, lightgbm),
    "FairLGBMClassifier": (lightgbm, fair(FairLGBMClassifier, lightgbm)),
    "a quarter held out": (lightgbm, fair(FairLGBMClassifier, lightgbm, heldout_size=0.25)),
    "measured on the training rows": (lightgbm, fair(FairLGBMClassifier, lightgbm, dual_signal="train")),
    "PI control": (lightgbm, fair(FairLGBMClassifier, lightgbm, method=PIControl())),
    "Lagrangian": (lightgbm, fair(FairLGBMClassifier, lightgbm, method="lagrangian")),
    "stopped early (20 rounds)": (lightgbm, fair(FairLGBMClassifier, lightgbm, early_stopping_rounds=20)),
}


def adult(rehearse):
    data = load_adult()
    X = data.features_frame(with_protected=True)
    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    X = X.astype(dict.fromkeys(texts, "category"))
    y, s = data.y, data.groups.to_numpy()
    for seed in REHEARSALS if rehearse else SPLITS:
        fit, new = split(y, s, test_size=0.3, random_state=seed)
        if rehearse:
            inner, outer = split(y[fit], s[fit], test_size=0.3, random_state=seed)
            fit, new = fit[inner], fit[outer]
        yield X.iloc[fit], y[fit], s[fit], X.iloc[new], y[new], s[new]


def survey(part):
    path = Path(os.environ.get("FAIRALM_DATA", "")) / "acs" / f"ACSIncome.{part}.parquet"
    return pd.read_parquet(path).sample(frac=1, random_state=0).reset_index(drop=True)


def income(rehearse, attribute="SEX"):
    table = survey("validation")
    half = len(table) // 2
    parts = (table[:half], table[half:]) if rehearse else (table, survey("test"))
    problem = []
    for part in parts:
        s = part["SEX"].to_numpy() if attribute == "SEX" else races(part["RAC1P"], 4)
        problem += [part.drop(columns=["PINCP", "RAC1P"]), part["PINCP"].to_numpy().astype(int), s]
    yield tuple(problem)


def race(rehearse):
    return income(rehearse, "RAC1P")


TABLES = {"adult": adult, "income": income, "race": race}
TITLES = {"adult": "Adult, sex", "income": "ACSIncome, sex", "race": "ACSIncome, race (4 groups)"}


def clock(model, X, y, s):
    settings = {} if isinstance(model, (LGBMClassifier, XGBClassifier)) else {"sensitive_features": s}
    begin = time.process_time()
    model.fit(X, y, **settings)
    return time.process_time() - begin


def figures(chosen, y, s):
    return {
        "error": 100 * np.mean(chosen != y),
        "gap": 100 * spread(chosen, y, s, TOL),
        "floor": 100 * floor(chosen, y, s, TOL),
    }


def fairgbm(python, X, y, s, X_new, y_new, s_new):
    categories = [place for place, name in enumerate(X) if X[name].dtype == "category"]
    X, X_new = (
        np.column_stack([part[name].cat.codes if i in categories else part[name] for i, name in enumerate(part)])
        for part in (X, X_new)
    )
    with tempfile.TemporaryDirectory() as folder:
        source, target = f"{folder}/in.npz", f"{folder}/out.npz"
        group = np.unique(s, return_inverse=True)[1]
        np.savez(source, X=X.astype(float), y=y, s=group, X_new=X_new.astype(float), categories=categories, tol=TOL.tol)
        subprocess.run([python, "-W", "ignore", "-c", FAIRGBM, source, target], check=True)
        answer = np.load(target)
        return {"model": "FairGBM", "times": float(answer["times"]), **figures(answer["chosen"], y_new, s_new)}


def run(name, rehearse, models, python):
    lines, known = [], SETTINGS if rehearse else CONTENDERS
    for index, (X, y, s, X_new, y_new, s_new) in enumerate(TABLES[name](rehearse)):
        for title, (plain, make) in known.items():
            for _ in range((1 if name == "adult" else REPEATS) if title in models else 0):
                unit, model = clock(plain(), X, y, s), make()
                times = clock(model, X, y, s) / unit
                chosen = np.asarray(model.predict(X_new))
                lines.append({"model": title, "split": index, "times": times, **figures(chosen, y_new, s_new)})
                print(name, lines[-1], flush=True)
                if times > SLOW:
                    break
        if python and not rehearse and "FairGBM" in models:
            lines.append({"split": index, **fairgbm(python, X, y, s, X_new, y_new, s_new)})
            print(name, lines[-1], flush=True)
    return pd.DataFrame(lines).assign(table=TITLES[name])


def markdown(lines, *, timed):
    order = list(dict.fromkeys([*TITLES.values(), *CONTENDERS, "FairGBM", *SETTINGS]))
    lines = lines.sort_values(["table", "model"], key=lambda names: names.map(order.index))
    by = lines.groupby(["table", "model"], sort=False)
    figures = by[["error", "gap", "floor"]].mean().rename(columns={"error": "error, %", "gap": "gap, points"})
    if timed:
        figures.insert(0, "× plain fit", by["times"].median())
    text = f"| table | model | {' | '.join(figures)} |\n" + "|---" * (2 + figures.shape[1]) + "|\n"
    for names, line in figures.iterrows():
        text += f"| {' | '.join([*names, *(f'{value:.2f}' for value in line)])} |\n"
    return text.rstrip()


def main():
    parser = start(__doc__)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--models", default="", help="names of the models to fit; all if left out")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--fairgbm-python", default="", help="an interpreter that has fairgbm")
    parser.add_argument("--csv", type=Path, help="every line; those of other tables and models that are there stay")
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    models = args.models.split(",") if args.models else [*(SETTINGS if args.rehearse else CONTENDERS), "FairGBM"]
    tables = args.tables.split(",")
    lines = pd.concat([run(name, args.rehearse, models, args.fairgbm_python) for name in tables])
    if args.csv:
        if args.csv.exists():
            before = pd.read_csv(args.csv)
            renewed = pd.MultiIndex.from_frame(before[["table", "model"]]).isin(
                lines.set_index(["table", "model"]).index
            )
            lines = pd.concat([before[~renewed], lines])
        lines.to_csv(args.csv, index=False)
    text = markdown(lines, timed=not args.rehearse)
    print(text)
    if args.write:
        write_between(args.write, "boosting settings" if args.rehearse else "boosting", text)


if __name__ == "__main__":
    main()
