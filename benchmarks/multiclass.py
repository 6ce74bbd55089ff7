"""More than two labels: five levels of education, race in four groups and not a feature.

    OMP_NUM_THREADS=1 python benchmarks/multiclass.py [--rows 50000] [--rehearse] [--write docs/benchmarks/frontier.md]

Protocol, fixed before any row of the file "test" was read:

- The table is ACSIncome. Its income is given as above 50,000 or not, so the five classes of income in Xian & Zhao
  (2024) cannot be rebuilt; the label is the level of education (SCHL): below high school, high school, some college,
  bachelor, graduate. All other columns but race are features, income included.
- The first 50,000 rows of the file "validation" to fit on; 100,000 rows of the file "test" as new rows. A rehearsal
  takes its new rows from the end of "validation".
- Histogram gradient boosting and fairalm at their defaults; tolerance 0.01 for all five labels.
- "frontier": one FrontierClassifier of five labels for both constraints. "uncorrected": the same program on the same
  probabilities without the correction by observed rates, which is what LinearPost solves. "one against the rest": five
  frontiers of two labels, each at the tolerance; the label with the largest decision value is predicted.
- The gap is the largest over labels of the largest difference between groups, with its 95 % interval. The floor is the
  gap that predictions of the same rates show by chance on the same rows, on average, if all groups had the same rates.
- Out of fold, the gap must be within the tolerance plus its sampling error, for which the floor stands.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from common import start, write_between
from promise import races, survey
from sklearn.ensemble import HistGradientBoostingClassifier

from fairalm import DemographicParity, EqualOpportunity, FrontierClassifier
from fairalm.frontier.multiclass.curve import LabelFrontier
from fairalm.measures import group_rates, label_rates, measure_of
from fairalm.measures.definitions import definition_of

TOL = 0.01
ALL_ROWS, TEST_ROWS, REHEARSAL_ROWS = 332_900, 100_000, 80_000
LEVELS = {15: "below high school", 17: "high school", 20: "some college", 21: "bachelor", 24: "graduate"}
CONSTRAINTS = (EqualOpportunity(tol=TOL), DemographicParity(tol=TOL))
DRAWS = 2000


def people(part, rows):
    """Features, level of education and race of some rows of the survey."""
    table, income, race, _ = survey("ACSIncome", part, rows)
    level = np.array(list(LEVELS.values()))[np.searchsorted(list(LEVELS), table.pop("SCHL"))]
    table["PINCP"] = income
    return table.drop(columns="index", errors="ignore").to_numpy(dtype=float), level, races(race, 4)


class Uncorrected(LabelFrontier):
    """The program of the estimated probabilities as they are."""

    def _corrections(self, limited, sums, chosen):
        return [np.zeros_like(own.rates.constants) for own in limited]


def one_against_rest(X, y, s):
    """A frontier of two labels for each label."""
    found = {}
    for label in LEVELS.values():
        model = FrontierClassifier(make(), constraint=list(CONSTRAINTS), random_state=0)
        found[label] = model.fit(X, (y == label).astype(int), sensitive_features=s)
    return found


def make():
    return HistGradientBoostingClassifier(random_state=0)


def by_chance(rates, constraint):
    """The mean gap of predictions whose rates are those of each label, the same for all groups."""
    rng, worst = np.random.RandomState(0), np.zeros(DRAWS)
    for own in rates.each.values():
        for share in definition_of(constraint).rates.values():
            k, n = own.counts(share)
            drawn = rng.binomial(n, k.sum() / n.sum(), (DRAWS, len(n))) / n
            worst = np.maximum(worst, np.ptp(drawn, axis=1))
    return float(worst.mean())


def figures(name, constraint, y, predicted, s, where):
    """One line of the table."""
    rates = label_rates(y, predicted, sensitive_features=s)
    error, gap = measure_of("error", rates), measure_of(constraint, rates)
    each = [f"{100 * measure_of(constraint, rates.each[label]).value:.1f}" for label in LEVELS.values()]
    return {
        "constraint": constraint.name,
        "model": name,
        "rows": where,
        "error, %": str(error).replace(" %", ""),
        "gap, points": str(gap).replace(" %", ""),
        "of each label": ", ".join(each),
        "floor": f"{100 * by_chance(rates, constraint):.1f}",
    }


def measured(rows, rehearse):
    """The lines of the table, one after the other."""
    X, y, s = people("validation", ALL_ROWS)
    new = [part[-REHEARSAL_ROWS:] for part in (X, y, s)] if rehearse else people("test", TEST_ROWS)
    X, y, s = X[:rows], y[:rows], s[:rows]
    smallest = min(int((group_rates(y == k, y == k, sensitive_features=s).counts("tpr")[1]).min()) for k in set(y))
    print(f"rows of the smallest label and group: {smallest}", flush=True)
    model = FrontierClassifier(make(), constraint=list(CONSTRAINTS), random_state=0).fit(X, y, sensitive_features=s)
    sample, labels = model._trade_off.sample, model.classes_
    joint = model._model.joint(new[0])

    def both(name, constraint, outside, within):
        yield figures(name, constraint, y, within, s, "out of fold")
        yield figures(name, constraint, new[1], outside, new[2], "new")

    for constraint in CONSTRAINTS:
        point = model._trade_off.at(constraint=constraint)
        loose = Uncorrected(sample, model._trade_off.targets).point(point.asked)
        yield from both("plain", constraint, model.estimator_.predict(new[0]), labels[sample.plain])
        for name, own in (("frontier", point), ("uncorrected", loose)):
            yield from both(name, constraint, labels[own.rule.predict(joint)], labels[own.rule.predict(sample.joint)])
        print(f"{constraint.name}: certificate {100 * point.certificate:.3f} points", flush=True)
    rest = one_against_rest(X, y, s)
    names = np.array(list(rest))
    for constraint in CONSTRAINTS:
        binary = {label: own.at(constraint=constraint) for label, own in rest.items()}
        values = np.column_stack([own.decision_function(new[0]) for own in binary.values()])
        inside = np.column_stack(
            [own.rule.threshold - own.rule.margins(rest[k]._trade_off.sample.joint) for k, own in binary.items()]
        )
        yield from both("one against the rest", constraint, names[values.argmax(axis=1)], names[inside.argmax(axis=1)])


def as_markdown(lines):
    head = list(lines[0])
    rows = [head, ["---"] * len(head), *([line[name] for name in head] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main():
    parser = start(__doc__, rows=50_000)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--write", type=Path, help="page to write the table into")
    given = parser.parse_args()
    lines = []
    for line in measured(given.rows, given.rehearse):
        lines.append(line)
        print(" | ".join(line.values()), flush=True)
    print(pd.DataFrame(lines).to_string())
    if given.write:
        write_between(given.write, "several labels", as_markdown(lines))


if __name__ == "__main__":
    main()
