"""Coverage of the intervals in `fairalm.measures`, by the protocol in coverage_settings.py.

    python benchmarks/coverage.py [--draws 4000] [--write docs/benchmarks/coverage.md]

Takes about ten minutes. benchmarks/interval_alternatives.py compares these intervals with others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import start, write_between
from coverage_settings import (
    BETAS,
    CHOSEN_AGREEMENT,
    CHOSEN_GAPS,
    CHOSEN_SIZES,
    DRAWS,
    LEVEL,
    MEASURES,
    N_MODELS,
    N_SEEDS,
    PAIR_SIZES,
    SEED,
    SMALL,
    TOLERANCES,
    Group,
    Setting,
    paired_settings,
    weighted_settings,
)
from scipy.stats import binom

from fairalm.measures import definition_of, difference_interval, range_interval, rate_interval, ratio_interval
from fairalm.measures.means import mean_interval
from fairalm.measures.paired import PairedRates
from fairalm.measures.paired_intervals import PairedCells, gap_change, rate_changes, ratio_change
from fairalm.measures.rates import RATES

Coverage = Iterator[tuple[str, str, float]]  # what, setting, coverage


def probabilities(group: Group) -> np.ndarray:
    """Of label, prediction before and prediction after."""
    table = np.empty((2, 2, 2))
    for y, share, rate in ((1, group.base, group.tpr), (0, 1 - group.base, group.fpr)):
        table[y, 1] = share * rate * np.array([group.down, 1 - group.down])
        table[y, 0] = share * (1 - rate) * np.array([1 - group.up, group.up])
    return table


def compared(tables: np.ndarray, setting: Setting) -> np.ndarray:
    """Tables of the groups that are compared, in place of those of the combinations of two attributes."""
    if not setting.is_separate:
        return tables
    parts = [tables[..., list(pair), :, :, :].sum(axis=-4) for pair in ((0, 1), (2, 3), (0, 2), (1, 3))]
    return np.stack(parts, axis=-4)


def drawn(setting: Setting, draws: int, rng: np.random.Generator) -> PairedRates:
    """Simulated counts, one sample per entry of the first axis."""
    tables: list[tuple[np.ndarray, ...]] = []
    for group, size in zip(setting.groups, setting.sizes, strict=True):
        p = probabilities(group).ravel()
        if not setting.sigma:
            tables.append((rng.multinomial(size, p, size=draws),))
            continue
        cell = rng.choice(8, size=(draws, size), p=p)
        weight = rng.lognormal(0.0, setting.sigma, (draws, size))
        place = (np.arange(draws)[:, None] * 8 + cell).ravel()
        values = (None, weight.ravel(), (weight**2).ravel())
        tables.append(tuple(np.bincount(place, value, 8 * draws).reshape(draws, 8) for value in values))
    stacked = [np.stack(part, axis=1).reshape(draws, -1, 2, 2, 2) for part in zip(*tables, strict=True)]
    return _pair([compared(part, setting) for part in stacked])


def expected(setting: Setting) -> PairedRates:
    """The same with every row in proportion to its probability."""
    tables = np.stack([size * probabilities(g) for g, size in zip(setting.groups, setting.sizes, strict=True)])[None]
    return _pair([compared(tables, setting)])


def _pair(tables: list[np.ndarray]) -> PairedRates:
    n_groups = tables[0].shape[1]
    return PairedRates(tuple(map(str, range(n_groups))), (n_groups,), 1, *tables)


def pooled(pair: PairedRates, setting: Setting) -> PairedRates:
    """All rows as one group; each attribute has every row once."""
    first = slice(0, 2) if setting.is_separate else slice(None)
    tables = [t for t in (pair.rows, pair.sums, pair.squares) if t is not None]
    return _pair([table[:, first].sum(axis=1, keepdims=True) for table in tables])


def cells(pair: PairedRates, rates) -> PairedCells:
    """The cells of several rates in the last axis, one rate after the other."""
    columns = []
    for share in rates:
        same = all((a in share[1]) == (b in share[1]) for a, b in (("tp", "fn"), ("fp", "tn")))
        own = (*pair.before.effective(share), *pair.after.effective(share), pair.both(share), pair.correlation(share))
        columns.append([*own, np.full(own[0].shape, same)])
    return PairedCells(*(np.concatenate(parts, axis=-1) for parts in zip(*columns, strict=True)))


def contrasts(setting: Setting, n_rates: int) -> tuple[np.ndarray, np.ndarray]:
    """Each group with each other of its attribute."""
    n_groups = len(setting.groups)
    pairs = [
        (i, j) for i, j in itertools.permutations(range(n_groups), 2) if not setting.is_separate or i // 2 == j // 2
    ]
    places = [(rate * n_groups + i, rate * n_groups + j) for rate in range(n_rates) for i, j in pairs]
    return tuple(np.array(places).T)


def value(k: np.ndarray, n: np.ndarray, kind: str, pairs) -> np.ndarray:
    """A measure from the cells of one model."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = k / n
        if kind == "overall":
            return p[..., 0]
        first, second = p[..., pairs[0]], p[..., pairs[1]]
        return (first - second).max(axis=-1) if kind == "difference" else np.nanmin(first / second, axis=-1)


def share_covered(low, high, truth, usable) -> float:
    inside = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    return float(inside[usable].mean())


def measured(settings: list[Setting], draws: int, *, weighted: bool) -> Coverage:
    """Coverage of the changes, and with weights of the second model's measures too."""
    for number, setting in enumerate(settings):
        rng = np.random.default_rng((SEED, number))
        samples, truths = drawn(setting, draws, rng), expected(setting)
        where = f"{setting.name}, n {setting.sizes}" + f", sigma {setting.sigma}" * bool(setting.sigma)
        for name in MEASURES:
            definition = definition_of(name)
            overall = definition.kind == "overall"
            sample, truth = (pooled(p, setting) if overall else p for p in (samples, truths))
            found, exact = (cells(p, definition.rates.values()) for p in (sample, truth))
            pairs = None if overall else contrasts(setting, len(definition.rates))
            usable = (found.n0 > 0).all(axis=-1) & (found.n1 > 0).all(axis=-1)
            usable &= definition.kind != "ratio" or (found.k0.any(axis=-1) & found.k1.any(axis=-1))
            before, after = (
                value(k, n, definition.kind, pairs) for k, n in ((exact.k0, exact.n0), (exact.k1, exact.n1))
            )
            if overall:
                low, high = (end[..., 0] for end in rate_changes(found, LEVEL))
            else:
                of_kind = gap_change if definition.kind == "difference" else ratio_change
                low, high = of_kind(found, pairs, pairs, LEVEL)
            no_gap = not overall and abs(np.array([before, after]) - (definition.kind == "ratio")).max() < 1e-9
            what = f"change of {name}" + ", no gap before and after" * bool(no_gap)
            yield what, where, share_covered(low, high, after - before, usable)
            if weighted:
                lines = (len(samples.names) // 2, 2) if setting.is_separate else (1, len(samples.names))
                shape = (draws, len(definition.rates) * lines[0], lines[1])
                if overall:
                    low, high = (end[..., 0] for end in rate_interval(found.k1, found.n1, LEVEL))
                else:
                    interval = range_interval if definition.kind == "difference" else ratio_interval
                    low, high = interval(found.k1.reshape(shape), found.n1.reshape(shape), LEVEL)
                yield name, where, share_covered(low, high, after, usable)
        for rate in ("tpr", "selection", "ppv"):
            found, exact = (cells(p, [RATES[rate]]) for p in (samples, truths))
            low, high = rate_changes(found, LEVEL)
            truth = exact.k1 / exact.n1 - exact.k0 / exact.n0
            usable = (found.n0 > 0) & (found.n1 > 0)
            for group in range(len(samples.names)):
                covered = share_covered(low[:, group], high[:, group], truth[0, group], usable[:, group])
                yield f"change of a group's {rate}", f"{where}, group {group}", covered


def chosen(draws: int) -> Coverage:
    """The smallest gap of several models on the same rows, with and without the correction."""
    rng = np.random.default_rng(SEED)
    for sizes, gap, agreement, spread in itertools.product(CHOSEN_SIZES, CHOSEN_GAPS, CHOSEN_AGREEMENT, (0.0, 0.1)):
        gaps = gap + spread * np.arange(N_MODELS) / N_MODELS
        counts = []
        for size, rates in zip(sizes, (np.full(N_MODELS, 0.6), 0.6 - gaps), strict=True):
            shared = rng.binomial(size, 0.6, (draws, 1))  # rows where most models say yes
            own = (1 - agreement) * rates  # of the rows where a model does not follow the others
            counts.append(rng.binomial(shared, own + agreement * rates / 0.6) + rng.binomial(size - shared, own))
        k, n = np.stack(counts, axis=-1), np.array(sizes)
        best = abs(k[..., 0] / n[0] - k[..., 1] / n[1]).argmin(axis=1)
        k, truth = k[np.arange(draws), best][:, None, :], gaps[best]
        low, plain = range_interval(k, n, LEVEL)
        _, high = range_interval(k, n, LEVEL ** (1 / N_MODELS))
        where = f"n {sizes}, gap {gap} to {gap + spread}, agreement {agreement}"
        everything = np.ones(draws, dtype=bool)
        yield f"smallest gap of {N_MODELS} models", where, share_covered(low, high, truth, everything)
        yield f"smallest gap of {N_MODELS} models, not corrected", where, share_covered(low, plain, truth, everything)


def falsely_met(draws: int) -> Coverage:
    """How often a gap just above the tolerance is judged "met", for two and for five groups."""
    rng = np.random.default_rng(SEED)
    for sizes, tol, rate in itertools.product((*PAIR_SIZES, (1000,) * 5), TOLERANCES, (0.15, 0.5, 0.9)):
        rates = np.array([rate - tol, *[rate] * (len(sizes) - 1)])
        _, high = range_interval(rng.binomial(sizes, rates, (draws, len(sizes)))[:, None, :], sizes, LEVEL)
        yield 'false "met"', f"n {sizes}, tolerance {tol}, rate {rate}", float((high < tol).mean())


def small_cells() -> Coverage:
    """Two cells of so many rows: exact, over all pairs of rates 0.01, 0.02, ..., 0.99."""
    rates = np.linspace(0.01, 0.99, 99)
    for n in SMALL:
        k = np.arange(n + 1)
        low, high = difference_interval(k[:, None], n, k[None], n, LEVEL)
        weight = binom.pmf(k[:, None], n, rates)
        for i, j in itertools.product(range(99), repeat=2):
            truth = rates[i] - rates[j]
            covered = (low <= truth + 1e-12) & (truth <= high + 1e-12)
            yield (
                f"difference of two cells of {n} row{'s' * (n > 1)}",
                f"p {rates[i]:.2f}, {rates[j]:.2f}",
                float(weight[:, i] @ covered @ weight[:, j]),
            )


def bounded_means(draws: int) -> Coverage:
    """Means of shares over seeds, inside [0, 1] and as Student's interval has them."""
    rng = np.random.default_rng(SEED)
    for n, (a, b) in itertools.product(N_SEEDS, BETAS):
        values, truth = rng.beta(a, b, (draws, n)), a / (a + b)
        for what, bounds in (("mean over seeds, inside [0, 1]", (0.0, 1.0)), ("mean over seeds, Student's", None)):
            ends = np.array([mean_interval(row, LEVEL, bounds=bounds)[1:] for row in values])
            inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
            yield what, f"{n} seeds, Beta({a}, {b})", float(inside.mean())


def table(results: Coverage, *, prefix: str = "") -> Iterator[str]:
    """Lines of the table, one for each thing that was measured."""
    found: dict[str, list[tuple[float, str]]] = {}
    for what, where, share in results:
        found.setdefault(prefix + what, []).append((share, where))
    for what, rows in found.items():
        shares = [100 * share for share, _ in rows]
        extreme = max(rows) if "false" in what else min(rows)
        figures = f"{min(shares):.1f} | {np.mean(shares):.1f} | {max(shares):.1f}"
        line = f"| {what} | {len(rows):,} | {figures} | {extreme[1]} |"
        print(line, flush=True)
        yield line


def main() -> None:
    parser = start(__doc__, draws=DRAWS)
    parser.add_argument("--write", type=Path, help="a page with <!-- coverage --> markers")
    options = parser.parse_args()
    draws = options.draws
    lines = [
        "| what | settings | lowest | mean | highest | the lowest (false met: the highest) is at |",
        "|---|---|---|---|---|---|",
    ]
    lines += table(small_cells())
    lines += table(chosen(draws))
    lines += table(falsely_met(draws))
    lines += table(bounded_means(draws))
    lines += table(measured(paired_settings(), draws, weighted=False))
    lines += table(measured(weighted_settings(), draws, weighted=True), prefix="weighted: ")
    if options.write:
        write_between(options.write, "coverage", "\n".join(lines))


if __name__ == "__main__":
    main()
