"""Coverage and width of the intervals in `fairalm.measures`, beside those of the alternatives.

    python benchmarks/interval_alternatives.py

For differences and ratios of two rates the coverage is summed exactly over all pairs of counts; for the range over five
groups, and for rows with weights, it is simulated. Takes about two minutes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import beta, binom, studentized_range

from fairalm.measures import difference_interval, range_interval, rate_interval, ratio_interval
from fairalm.measures.weights import WeightSums

Z = ndtri(0.975)
SIZES, RATES = (10, 30, 300), (0.02, 0.2, 0.5)
WIDE_SIZES = (5, 10, 20, 30, 100, 300, 1000)
WIDE_RATES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99)

Ends = tuple[np.ndarray, np.ndarray]
Single = Callable[[np.ndarray, np.ndarray], Ends]


def wilson(k, n) -> Ends:
    """Score interval of one rate."""
    centre, half = k + Z**2 / 2, Z * np.sqrt(k * (n - k) / n + Z**2 / 4)
    low, high = (centre - half) / (n + Z**2), (centre + half) / (n + Z**2)
    return np.where(k == 0, 0, low), np.where(k == n, 1, high)


def jeffreys(k, n, prior=0.5) -> Ends:
    """Equal-tailed interval under a Beta(prior, prior) prior."""
    low, high = (beta.ppf(q, k + prior, n - k + prior) for q in (0.025, 0.975))
    return np.where(k == 0, 0, low), np.where(k == n, 1, high)


def agresti_coull(k, n) -> Ends:
    """Wald's interval around the centre of Wilson's."""
    p = (k + Z**2 / 2) / (n + Z**2)
    half = Z * np.sqrt(p * (1 - p) / (n + Z**2))
    return np.maximum(p - half, 0), np.minimum(p + half, 1)


def square_and_add(single: Single) -> Callable[..., Ends]:
    """Newcombe's construction from the ends of two single-rate intervals."""

    def interval(k0, n0, k1, n1) -> Ends:
        p0, p1, (l0, u0), (l1, u1) = k0 / n0, k1 / n1, single(k0, n0), single(k1, n1)
        return p0 - p1 - np.hypot(p0 - l0, u1 - p1), p0 - p1 + np.hypot(u0 - p0, p1 - l1)

    return interval


def wald_plus(pseudo: float) -> Callable[..., Ends]:
    """Wald's interval after adding `pseudo` successes and failures: 0 Wald, 1/2 Brown-Li, 1 Agresti-Caffo."""

    def interval(k0, n0, k1, n1) -> Ends:
        m0, m1 = n0 + 2 * pseudo, n1 + 2 * pseudo
        p0, p1 = (k0 + pseudo) / m0, (k1 + pseudo) / m1
        half = Z * np.sqrt(p0 * (1 - p0) / m0 + p1 * (1 - p1) / m1)
        return np.maximum(p0 - p1 - half, -1), np.minimum(p0 - p1 + half, 1)

    return interval


def miettinen_nurminen(k0, n0, k1, n1) -> Ends:
    """Score interval by bisection (not closed form; here for reference)."""
    k0, k1 = np.broadcast_arrays(k0, k1)
    total, d_hat = n0 + n1, k0 / n0 - k1 / n1

    def score(d):
        theta = n1 / n0  # then the cubic for p0 under p0 - p1 = d
        a, b = 1 + theta, -(1 + theta + k0 / n0 + theta * k1 / n1 + d * (theta + 2))
        c = d * d + d * (2 * k0 / n0 + theta + 1) + k0 / n0 + theta * k1 / n1
        v0 = -k0 / n0 * d * (1 + d)
        v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + v0 / (2 * a)
        u = np.where(v >= 0, 1, -1) * np.sqrt(np.maximum((b / (3 * a)) ** 2 - c / (3 * a), 0))
        w = (np.pi + np.arccos(np.clip(np.divide(v, u**3, where=u != 0, out=np.zeros_like(v)), -1, 1))) / 3
        q0 = np.clip(2 * u * np.cos(w) - b / (3 * a), 0, 1)
        q1 = np.clip(q0 - d, 0, 1)
        variance = (q0 * (1 - q0) / n0 + q1 * (1 - q1) / n1) * total / (total - 1)
        return (d_hat - d) ** 2 - Z**2 * variance

    ends = []
    for limit in (-1.0, 1.0):
        inside, outside = d_hat.copy(), np.full(d_hat.shape, limit)
        for _ in range(40):
            middle = (inside + outside) / 2
            accepted = score(middle) <= 0
            inside, outside = np.where(accepted, middle, inside), np.where(accepted, outside, middle)
        ends.append(outside)
    return ends[0], ends[1]


DIFFERENCES: dict[str, Callable[..., Ends]] = {
    "Wald": wald_plus(0),
    "Brown-Li (1/2 added)": wald_plus(0.5),
    "Agresti-Caffo": wald_plus(1),
    "Newcombe (Wilson)": square_and_add(wilson),
    "MOVER Jeffreys": square_and_add(jeffreys),
    "MOVER uniform prior": square_and_add(lambda k, n: jeffreys(k, n, prior=1.0)),
    "MOVER Agresti-Coull": square_and_add(agresti_coull),
    "MOVER Wilson+Jeffreys": difference_interval,
    "Miettinen-Nurminen": miettinen_nurminen,
}


def exact(interval: Callable[..., Ends], sizes: Iterable[int], rates: Iterable[float]) -> np.ndarray:
    """Rows of coverage, mean width, n0, n1, p0, p1: summed over every pair of counts."""
    rows = []
    for n0, n1 in itertools.product(tuple(sizes), repeat=2):
        k0, k1 = np.arange(n0 + 1)[:, None], np.arange(n1 + 1)[None]
        low, high = interval(k0, n0, k1, n1)
        for p0, p1 in itertools.product(tuple(rates), repeat=2):
            w0, w1 = binom.pmf(k0[:, 0], n0, p0), binom.pmf(k1[0], n1, p1)
            covered = (low <= p0 - p1 + 1e-12) & (p0 - p1 <= high + 1e-12)
            rows.append((w0 @ covered @ w1, w0 @ (high - low) @ w1, n0, n1, p0, p1))
    return np.array(rows)


def regular(rows: np.ndarray) -> np.ndarray:
    """Whether n p (1 - p) is at least 3 in both cells."""
    n, p = rows[:, 2:4], rows[:, 4:6]
    return (n * p * (1 - p)).min(axis=1) >= 3


def where(row: np.ndarray) -> str:
    """Name the setting of a row."""
    return f"n {row[2]:.0f}, {row[3]:.0f}; p {row[4]:g}, {row[5]:g}"


def print_differences() -> None:
    """Compare the intervals for p0 - p1."""
    print("Two groups, difference: n in {10, 30, 300}, p in {0.02, 0.2, 0.5}; wide: n 5..1000, p 0.005..0.99")
    print(f"{'':24}{'lowest':>8}{'highest*':>43}{'width/N.':>13}{'wide: lowest':>20}{'<93 %':>8}{'width':>7}")
    newcombe = exact(DIFFERENCES["Newcombe (Wilson)"], SIZES, RATES)
    newcombe_wide = exact(DIFFERENCES["Newcombe (Wilson)"], WIDE_SIZES, WIDE_RATES)
    for name, interval in DIFFERENCES.items():
        rows = exact(interval, SIZES, RATES)
        ratio = rows[:, 1] / newcombe[:, 1]
        line = f"{name:24}{rows[:, 0].min():8.4f} at {where(rows[rows[:, 0].argmin()]):31}"
        line += f"{rows[regular(rows), 0].max():9.4f}  mean {ratio.mean():.3f} max {ratio.max():.3f}"
        if interval is not miettinen_nurminen:
            wide = exact(interval, WIDE_SIZES, WIDE_RATES)
            line += f"{wide[:, 0].min():9.4f}{100 * (wide[:, 0] < 0.93).mean():6.1f} %"
            line += f"{(wide[:, 1] / newcombe_wide[:, 1]).mean():7.3f}"
        print(line)
    print("* where n p (1 - p) >= 3 in both cells\n")


def print_rates() -> None:
    """Compare the intervals for one rate."""
    print("One rate at 95 %: exact over n in 5..300, p in 0.005..0.5")
    for name, interval in {"Wilson": wilson, "Jeffreys": jeffreys, "union (ours)": rate_interval}.items():
        rows = []
        for n in (5, 10, 20, 30, 100, 300):
            k = np.arange(n + 1)
            low, high = interval(k, n)
            for p in np.linspace(0.005, 0.5, 100):
                weight = binom.pmf(k, n, p)
                rows.append((weight @ ((low <= p) & (p <= high)), weight @ (high - low)))
        coverage, width = np.array(rows).T
        print(f"  {name:14} lowest {coverage.min():.4f}, mean {coverage.mean():.4f}, width {width.mean():.4f}")
    print()


def exact_ratio(interval: Callable[..., Ends]) -> np.ndarray:
    """Coverage of min/max of two rates where some count is positive."""
    rows = []
    for n0, n1 in itertools.product(SIZES, repeat=2):
        k0, k1 = np.meshgrid(np.arange(n0 + 1), np.arange(n1 + 1), indexing="ij")
        low, high = interval(k0, n0, k1, n1)
        for p0, p1 in itertools.product((*RATES, 0.8, 0.98), repeat=2):
            weight = np.outer(binom.pmf(np.arange(n0 + 1), n0, p0), binom.pmf(np.arange(n1 + 1), n1, p1))
            truth = min(p0, p1) / max(p0, p1)
            covered = (low <= truth + 1e-12) & (truth <= high + 1e-12)
            rows.append(((weight * covered).sum(), (weight * (high - low)).sum(), n0, n1, p0, p1))
    return np.array(rows)


def walters(k0, n0, k1, n1) -> Ends:
    """Log ratio with 1/2 added, folded into [0, 1]."""
    estimate = np.log((k0 + 0.5) / (n0 + 0.5)) - np.log((k1 + 0.5) / (n1 + 0.5))
    half = Z * np.sqrt(1 / (k0 + 0.5) - 1 / (n0 + 0.5) + 1 / (k1 + 0.5) - 1 / (n1 + 0.5))
    low, high = estimate - half, estimate + half
    return np.exp(-np.maximum(high, -low)), np.exp(-np.maximum(np.maximum(low, -high), 0))


def print_ratios() -> None:
    """Compare the intervals for the ratio."""
    print("Two groups, smallest over largest rate: exact, n in {10, 30, 300}, p in {0.02, 0.2, 0.5, 0.8, 0.98}")

    def ours(k0, n0, k1, n1) -> Ends:
        return ratio_interval(np.stack([k0, k1], axis=-1)[..., None, :], [n0, n1])

    for name, interval in {"log, 1/2 added": walters, "MOVER Wilson+Jeffreys": ours}.items():
        rows = exact_ratio(interval)
        worst = rows[rows[:, 0].argmin()]
        print(f"  {name:24}{worst[0]:8.4f} at {where(worst):31} width {rows[:, 1].mean():.3f}")
    print()


def print_ranges(draws: int = 5000) -> None:
    """Compare the critical values for the range over five groups."""
    sizes = [
        (10,) * 5,
        (30,) * 5,
        (300,) * 5,
        (10, 30, 300, 300, 300),
        (10, 10, 10, 10, 300),
        (300, 30, 10, 10, 30),
    ]
    rates = [(p,) * 5 for p in (*RATES, 0.9)]
    rates += [(0.02, 0.2, 0.2, 0.2, 0.5), (0.5, 0.2, 0.2, 0.2, 0.02), (0.02, 0.02, 0.02, 0.02, 0.5)]
    rates += [(0.2, 0.2, 0.5, 0.5, 0.5), (0.85, 0.9, 0.9, 0.9, 0.95)]
    tukey = studentized_range.ppf(0.95, 5, np.inf) / np.sqrt(2)
    print(f"Range over five groups: {draws} draws each, {len(sizes)} sizes x {len(rates)} rates")
    levels = {"Tukey both": (tukey, tukey), "Tukey below, plain above": (tukey, Z)}
    sidak = -ndtri((1 - 0.95**0.1) / 2)
    levels |= {"Sidak both": (sidak, sidak), "Sidak below, plain above": (sidak, Z)}
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in levels}
    rng = np.random.default_rng(0)
    for n, p in itertools.product(sizes, rates):
        k, truth = rng.binomial(n, p, size=(draws, 5)), max(p) - min(p)
        ends = {z: range_ends(k, np.array(n), z) for z in {tukey, sidak, Z}}
        for name, (below, above) in levels.items():
            low, high = ends[below][0], ends[above][1]
            covered = (low <= truth + 1e-12) & (truth <= high + 1e-12)
            results[name].append((covered.mean(), (high - low).mean()))
    for name, rows in results.items():
        coverage, width = np.array(rows).T
        print(f"  {name:26} lowest {coverage.min():.4f}, mean {coverage.mean():.4f}, width {width.mean():.4f}")


def range_ends(k: np.ndarray, n: np.ndarray, z: float) -> Ends:
    """Largest lower and largest upper end over all pairs, every one at the same critical value."""
    p, (low, high) = k / n, rate_interval(k, n, 1 - 2 * ndtr(-z))
    pairs = list(itertools.permutations(range(k.shape[1]), 2))
    lower = [p[:, i] - p[:, j] - np.hypot((p - low)[:, i], (high - p)[:, j]) for i, j in pairs]
    upper = [p[:, i] - p[:, j] + np.hypot((high - p)[:, i], (p - low)[:, j]) for i, j in pairs]
    return np.maximum(np.max(lower, axis=0), 0), np.max(upper, axis=0)


def print_attributes(draws: int = 5000) -> None:
    """Coverage of the largest range over two attributes of the same people, each compared on its own."""
    sizes, shares = (100, 300, 1000, 3000), np.outer([0.6, 0.4], [0.7, 0.2, 0.1])  # sex x race
    effects = [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1), (0.05, 0.05), (0.1, 0.1), (0.2, 0.1)]
    rng, coverage = np.random.default_rng(0), []
    for n, p, (sex, race) in itertools.product(sizes, (0.05, 0.2, 0.5), effects):
        rates = p + sex * np.array([[0], [1]]) + race * np.array([[0, 0, 1]])
        people = rng.multinomial(n, shares.ravel(), size=draws).reshape(draws, 2, 3)
        selected = rng.binomial(people, rates)
        k, m = (np.stack([_padded(table.sum(2)), table.sum(1)], axis=1) for table in (selected, people))
        truth = max(np.ptp((rates * shares).sum(axis) / shares.sum(axis)) for axis in (0, 1))
        low, high = range_interval(k, m)
        coverage.append(((low <= truth + 1e-12) & (truth <= high + 1e-12)).mean())
    print(f"\nLargest range over two attributes (2 and 3 groups), n in {sizes}: {draws} draws each")
    print(f"  lowest {min(coverage):.4f}, mean {np.mean(coverage):.4f}")


def _padded(table: np.ndarray) -> np.ndarray:
    return np.pad(table, ((0, 0), (0, 1)))


def weighted_cells(rng, draws: int, n: int, p: float, sigma: float, tilt: float) -> tuple[np.ndarray, ...]:
    """Weighted rate, effective size and sum of weights of simulated cells, and the true rate.

    Weights are log-normal. Rows above the median weight have the rate p (1 + tilt), the others p (1 - tilt).
    """
    w = rng.lognormal(0.0, sigma, (draws, n))
    heavy = ndtr(sigma)  # share of the weight in rows above the median
    h = rng.random((draws, n)) < p * (1 + tilt * np.sign(w - 1))
    sums, squares = ({"tp": (part * h).sum(1), "fn": (part * ~h).sum(1)} for part in (w, w**2))
    k, size = WeightSums(sums, squares, 1.0).effective(("tp",), ("tp", "fn"))
    return k / size, size, w.sum(1), np.array(p * (1 + tilt * (2 * heavy - 1)))


def print_weighted(draws: int = 4000) -> None:
    """Compare the sizes that an interval can be computed from where rows have weights."""
    sizes, rates, sigmas = (30, 100, 300, 1000), (0.05, 0.2, 0.5), (0.5, 1.0)
    print(f"\nRows with log-normal weights (sigma {sigmas}): n in {sizes}, p in {rates}; {draws} draws each")
    rng = np.random.default_rng(0)
    for tilt in (0.0, 0.3, 0.6):
        covered: dict[str, list[float]] = {}
        for n, p, sigma in itertools.product(sizes, rates, sigmas):
            cells = [weighted_cells(rng, draws, n, each, sigma, tilt) for each in (p, 0.5 * p)]
            named = {"Kish's effective size (ours)": 1, "number of rows": None, "sum of the weights": 2}
            for name, place in named.items():
                (r0, *_, t0), (r1, *_, t1) = cells
                n0, n1 = (n if place is None else cell[place] for cell in cells)
                for what, truth, (low, high) in (
                    ("rate", t0, rate_interval(r0 * n0, n0)),
                    ("difference", t0 - t1, difference_interval(r0 * n0, n0, r1 * n1, n1)),
                ):
                    inside = float(((low <= truth) & (truth <= high)).mean())
                    covered.setdefault(f"{name}, {what}", []).append(inside)
        print(f"  rates of heavy and light rows: p (1 ± {tilt})")
        for name, shares in covered.items():
            print(f"    {name:40} lowest {min(shares):.4f}, mean {np.mean(shares):.4f}, highest {max(shares):.4f}")


if __name__ == "__main__":
    print_rates()
    print_differences()
    print_ratios()
    print_ranges()
    print_attributes()
    print_weighted()
