"""How often the intervals of AUC, KS and paired changes cover the truth: the table of docs/benchmarks/lda.md.

python benchmarks/lda_coverage.py --write docs/benchmarks/lda.md
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from common import start, write_between
from scipy.stats import norm

from fairalm.measures.lending import bad_rate_change, impact_ratio_change
from fairalm.measures.ranking import auc, ks

SIZES = ((20, 80), (50, 200), (200, 200), (200, 2000))  # rows with the label, and others
APART = (0.25, 0.5, 1.0, 2.0)  # standard deviations between the two labels' scores
ROWS = (100, 250, 1000, 4000)


def covers(measure, truth):
    return measure.low <= truth <= measure.high


def ranking(repeats, rng):
    """Normal scores, so that the true AUC and KS are known."""
    for n1, n0 in SIZES:
        for apart in APART:
            truth = {auc: norm.cdf(apart / np.sqrt(2)), ks: 2 * norm.cdf(apart / 2) - 1}
            y, hits = np.repeat([1, 0], [n1, n0]), dict.fromkeys(truth, 0)
            for _ in range(repeats):
                scores = rng.normal(size=n1 + n0) + apart * y
                for measure, true in truth.items():
                    hits[measure] += covers(measure(y, scores), true)
            for measure, count in hits.items():
                yield measure.__name__, f"{n1} + {n0}", count / repeats


def changes(repeats, rng):
    """Two models that decide 5 % of the applicants differently; a fifth belongs to the group."""
    n = 2_000_000
    group = rng.random(n) < 0.2
    skill = rng.normal(size=n) - 0.5 * group
    bad = rng.random(n) < norm.cdf(-1.3 - 0.8 * skill)
    other = skill + 0.4 * group + 0.15 * rng.normal(size=n)
    before, after = (score > np.quantile(score, 0.2) for score in (skill, other))
    true_bad = bad_rate_change(bad, before, after).value
    true_ratio = impact_ratio_change(before, after, group, ~group).value
    for size in ROWS:
        hits = np.zeros(2)
        for _ in range(repeats):
            i = rng.integers(0, n, size)
            hits += (
                covers(bad_rate_change(bad[i], before[i], after[i]), true_bad),
                covers(impact_ratio_change(before[i], after[i], group[i], ~group[i]), true_ratio),
            )
        yield "change of the bad rate", f"{size}", hits[0] / repeats
        yield "change of a ratio", f"{size}", hits[1] / repeats


def main():
    parser = start(__doc__, repeats=1000)
    parser.add_argument("--write", type=Path, help="a page with the marker <!-- lda coverage -->")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    found = [*ranking(options.repeats, rng), *changes(options.repeats, rng)]
    table = pd.DataFrame(found, columns=["figure", "rows", "coverage"])
    lines = ["| figure | rows | coverage, % |", "|---|---|---|"]
    for (figure, rows), part in table.groupby(["figure", "rows"], sort=False)["coverage"]:
        ends = " to ".join(dict.fromkeys(f"{100 * end:.1f}" for end in (part.min(), part.max())))
        lines.append(f"| {figure} | {rows} | {ends} |")
    text = "\n".join(lines)
    print(text)
    if options.write:
        write_between(options.write, "lda coverage", text)


if __name__ == "__main__":
    main()
