"""Nets on the four tables and on images: the default method, untuned, and every method over three decades of eta.

    python benchmarks/nets.py [--seeds 5] [--first 200] [--sweep_seeds 2] [--write docs/benchmarks/nets.md]

A net with two hidden layers of 64 units, trained by Adam with a rate going from 0.001 down to 0 along a cosine, in
batches of 256, for 30 epochs (at least 300 steps, which matters for German). Nothing is chosen per table. The images
are scenes whose group is independent of the label; their net has three convolutions. The constants of
`fairalm.PIControl` were chosen on splits and seeds 0 to 4; those here start at 200.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from common import start, tables, write_between
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import fairalm
from fairalm import EqualizedOdds, EqualOpportunity, InputError
from fairalm.datasets import load, preprocess, split
from fairalm.datasets.images import scenes
from fairalm.measures import group_rates, measure_of
from fairalm.methods import pi_control
from fairalm.nn import ConstrainedLoss, fit_frontier

BATCH, EPOCHS, STEPS, HIDDEN, RATE = 256, 30, 300, 64, 1e-3
N_SCENES, N_TEST, SIZE, SCENE_BATCH, SCENE_EPOCHS, SCENE_RATE = 1000, 600, 32, 32, 10, 1e-2
PARTS = ("default", "odds", "groups", "scenes", "ablation", "several", "sweep")
FACTORS = (1 / 30, 1 / 10, 1 / 3, 1, 3, 10, 30)
SWEPT = {
    "pi-control (default)": fairalm.PIControl,
    "Algorithm 2": fairalm.FairALM,
    "augmented": fairalm.AugmentedLagrangian,
    "Lagrangian": fairalm.Lagrangian,
    "proxy-Lagrangian": fairalm.ProxyLagrangian,
    "l2 penalty": fairalm.L2Penalty,
}
EQUAL_OPPORTUNITY, EQUALIZED_ODDS = EqualOpportunity(), EqualizedOdds()


class Table:
    """One split of a data set, as tensors."""

    def __init__(self, data, seed):
        X = data.features_frame(with_protected=True)
        groups = data.groups if data.groups.ndim == 1 else data.groups.agg(" × ".join, axis=1)
        self.seed, self.names, self.n_groups = seed, groups.to_numpy(), groups.nunique()
        self.train, self.test = split(data.y, groups, random_state=seed)
        made = preprocess(X.iloc[self.train]).fit(X.iloc[self.train]).transform(X)
        self.X, self.y = torch.tensor(np.asarray(made), dtype=torch.float32), torch.tensor(data.y, dtype=torch.float32)
        self.group = torch.tensor(pd.factorize(groups, sort=True)[0])

    def fit(self, method, epochs=EPOCHS, after=False, constraint=EQUAL_OPPORTUNITY):
        """Train a net and predict; with `after`, the dual step uses the losses after the primal step (Algorithm 2)."""
        return self.predict(self.net(method, epochs, after, constraint))

    def predict(self, model):
        """What a net predicts for all rows."""
        with torch.no_grad():
            return (model(self.X)[:, 0] > 0).int().numpy()

    def frontier(self, model, constraint):
        """A trained net at the constraint's point of its frontier, from the rows it was trained on."""
        rows = TensorDataset(self.X[self.train], self.y[self.train], self.group[self.train])
        found = fit_frontier(model, DataLoader(rows, batch_size=1024), constraint=constraint, n_groups=self.n_groups)
        return found.at(constraint=constraint).model

    def net(self, method, epochs=EPOCHS, after=False, constraint=EQUAL_OPPORTUNITY):
        """Train a net."""
        torch.manual_seed(self.seed)
        layers = (
            nn.Linear(self.X.shape[1], HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, 1),
        )
        model = nn.Sequential(*layers)
        criterion = ConstrainedLoss(
            nn.BCEWithLogitsLoss(reduction="none"),
            constraint,
            method,
            n_groups=self.n_groups,
            dual_from="observe" if after else "forward",
        )
        X, y, group = (part[self.train] for part in (self.X, self.y, self.group))
        per_epoch = ceil(len(X) / BATCH)
        epochs = max(epochs, ceil(STEPS / per_epoch))
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * per_epoch)
        for _ in range(epochs):
            for rows in torch.randperm(len(X)).split(BATCH):
                optimizer.zero_grad()
                criterion(model(X[rows])[:, 0], y[rows], group[rows]).backward()
                optimizer.step()
                if after:
                    with torch.no_grad():
                        criterion.observe(model(X[rows])[:, 0], y[rows], group[rows])
                criterion.step()
                schedule.step()
        return model

    def rates(self, chosen, rows):
        """The rates of the predictions on some rows."""
        return group_rates(self.y[rows].int().numpy(), chosen[rows], sensitive_features=self.names[rows])

    def figures(self, chosen):
        """Training gap, and test error and gap with their intervals, in points; selection rates by group."""
        trained, tested = self.rates(chosen, self.train), self.rates(chosen, self.test)
        gap, error = measure_of("deo", tested), measure_of("error", tested)
        codes = self.group[self.train].numpy()
        return {
            "training gap": 100 * measure_of("deo", trained, train=True).value,
            "test gap": 100 * gap.signed,
            "holds 0": gap.low <= 0,
            "test error": 100 * error.value,
            "selection": np.array([chosen[self.train][codes == k].mean() for k in (0, 1)]),
        }

    def wide_figures(self, chosen, constraint):
        """Training and test gap (largest minus smallest rate), the gap that chance shows in the test part, error."""
        trained, tested = self.rates(chosen, self.train), self.rates(chosen, self.test)
        return {
            "training gap": 100 * measure_of(constraint, trained, train=True).value,
            "one row": 100 / measure_of(constraint, trained, train=True).n_min,
            "test gap": 100 * measure_of(constraint, tested).value,
            "by chance": sampling_floor(tested, constraint),
            "test error": 100 * measure_of("error", tested).value,
        }


def sampling_floor(rates, constraint, draws=2000):
    """The mean gap, in points, that test rows show when all groups have the same true rates as the whole event."""
    missed, raised = (rates.fn, rates.fn + rates.tp), (rates.fp, rates.fp + rates.tn)
    events = [missed, raised] if isinstance(constraint, EqualizedOdds) else [missed]
    rng = np.random.default_rng(0)
    drawn = [rng.binomial(n, k.sum() / n.sum(), (draws, len(n))) / n for k, n in events]
    return 100 * np.max([np.ptp(rate, axis=1) for rate in drawn], axis=0).mean()


def wider(jobs, seeds, *, frontier=False):
    """The untuned default beside the plain net, and perhaps its frontier.

    Jobs have a name, a data set, a constraint and epochs.
    """
    rows = []
    for name, data, constraint, epochs in jobs:
        for table in (Table(data, seed) for seed in seeds):
            plain, fair = (table.net(method, epochs, False, constraint) for method in (fairalm.Unconstrained(), None))
            nets = {"plain": plain, "default": fair}
            if frontier:
                nets["plain, then its frontier"] = table.frontier(plain, constraint)
            for net, model in nets.items():
                figures = table.wide_figures(table.predict(model), constraint)
                rows.append({"groups": name, "constraint": constraint.name, "net": net, **figures})
                print(rows[-1], flush=True)
    grouped = pd.DataFrame(rows).groupby(["groups", "constraint", "net"], sort=False)
    mean, largest = grouped.mean(), grouped["training gap"].max()
    made = mean[["training gap"]].round(2)
    made["largest"] = largest.round(2)
    made["one row is"] = mean["one row"].round(1)
    made["test gap"], made["by chance"] = mean["test gap"].round(1), mean["by chance"].round(1)
    made["test error"] = mean["test error"].round(2)
    return made.reset_index()


def odds(seeds):
    """Equalized odds on the two tables with enough rows of both labels in both groups; COMPAS also with more steps."""
    jobs = [(f"{name}, 2", load(name), EQUALIZED_ODDS, EPOCHS) for name in ("adult", "compas")]
    return wider(
        [*jobs, (f"compas, 2, {4 * EPOCHS} epochs", load("compas"), EQUALIZED_ODDS, 4 * EPOCHS)], seeds, frontier=True
    )


def groups(seeds):
    """Five and ten groups of Adult."""
    data_sets = {"adult, 5": load("adult").protect("race"), "adult, 10": load("adult").protect("sex", "race")}
    constraints = (EQUAL_OPPORTUNITY, EQUALIZED_ODDS)
    return wider([(name, data, c, EPOCHS) for name, data in data_sets.items() for c in constraints], seeds)


class Scenes:
    """Images whose group, a colour, is independent of the label: no method should change what a net learns."""

    def __init__(self, seed):
        self.seed = seed
        self.train, self.test = (self._read(n, 2 * seed + i) for i, n in enumerate((N_SCENES, N_TEST)))

    def _read(self, n, random_state):
        data = scenes(n, correlation=0, size=SIZE, random_state=random_state)
        X = torch.tensor(data.pixels, dtype=torch.float32).permute(0, 3, 1, 2) / 127.5 - 1
        group = torch.tensor((data.groups == "red").to_numpy(dtype=int))
        return X, torch.tensor(data.y, dtype=torch.float32), group

    def fit(self, method):
        """Train a net of three convolutions under equalized odds; returns its test error and its criterion."""
        torch.manual_seed(self.seed)
        layers, before = [], 3
        for channels, stride in ((16, 2), (24, 2), (24, 1)):
            layers += [nn.Conv2d(before, channels, 3, stride, 1), nn.BatchNorm2d(channels), nn.ReLU()]
            before = channels
        model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1))
        each = nn.BCEWithLogitsLoss(reduction="none")
        criterion = ConstrainedLoss(each, EQUALIZED_ODDS, method, n_groups=2)
        optimizer = torch.optim.Adam(model.parameters(), lr=SCENE_RATE)
        criterion.attach(optimizer)
        X, y, group = self.train
        n_steps = SCENE_EPOCHS * ceil(N_SCENES / SCENE_BATCH)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
        for _ in range(SCENE_EPOCHS):
            for rows in torch.randperm(N_SCENES).split(SCENE_BATCH):
                optimizer.zero_grad()
                criterion(model(X[rows])[:, 0], y[rows], group[rows]).backward()
                optimizer.step()
                schedule.step()
        X, y, _ = self.test
        with torch.no_grad():
            wrong = (model.eval()(X)[:, 0] > 0) != (y == 1)
        return 100 * float(wrong.float().mean()), criterion


def independent(seeds):
    """Test errors on scenes, paired: the same images and initial weights; and the default's multipliers at the end."""
    rows = []
    for data in (Scenes(seed) for seed in seeds):
        plain, _ = data.fit(fairalm.Unconstrained())
        ours, criterion = data.fit(None)
        algorithm_2, _ = data.fit(fairalm.FairALM())
        made = {"seed": data.seed, "plain": plain, "default": ours, "difference": ours - plain}
        made |= {"Algorithm 2": algorithm_2, "largest multiplier": float(criterion.multiplier.abs().max())}
        rows.append({name: round(value, 2) for name, value in made.items()})
        print(rows[-1], flush=True)
    return pd.DataFrame(rows).astype({"seed": object})


def splits_of(seeds, chosen=None):
    """The name of each data set, and its splits."""
    for name, data in tables(chosen):
        yield name, [Table(data, seed) for seed in seeds]


def default(seeds, chosen):
    """The untuned default beside the plain net."""
    rows = []
    for name, splits in splits_of(seeds, chosen):
        for table in splits:
            for label, method in (("plain", fairalm.Unconstrained()), ("default", None)):
                rows.append({"table": name, "net": label, **table.figures(table.fit(method))})
                print(rows[-1], flush=True)
    return summary(pd.DataFrame(rows))


def summary(frame):
    """Means over the splits; for test figures also the standard deviation over the splits."""
    grouped = frame.groupby(["table", "net"], sort=False)

    def spread(name, digits):
        mean, deviation = grouped[name].mean(), grouped[name].std()
        return [f"{m:.{digits}f} ± {s:.{digits}f}" for m, s in zip(mean, deviation, strict=True)]

    made = grouped[["training gap"]].mean().round(2)
    made["largest"] = grouped["training gap"].max().round(2)
    made["test gap"] = spread("test gap", 1)
    made["interval holds 0"] = grouped["holds 0"].sum().astype(str) + " of " + grouped.size().astype(str)
    made["test error"] = spread("test error", 2)
    return made.reset_index()


def sweep(seeds, epochs=15):
    """Every method over three decades of eta on Adult; half the epochs."""
    splits = [Table(load("adult"), seed) for seed in seeds]
    plain = [table.figures(table.fit(fairalm.Unconstrained(), epochs)) for table in splits]
    rows = []
    for name, method in SWEPT.items():
        for eta in FACTORS:
            for table, before in zip(splits, plain, strict=True):
                figures, ratio = dict.fromkeys(("training gap", "test gap", "test error"), np.nan), np.full(2, np.nan)
                try:
                    figures = table.figures(table.fit(method(eta=eta), epochs, after=name == "Algorithm 2"))
                    ratio = figures["selection"] / before["selection"]
                except InputError as error:  # NaN: the net diverged
                    print(name, eta, error)
                ends = {"low": ratio.min(), "high": ratio.max()}
                rows.append({"method": name, "eta": eta, "seed": table.seed, **figures, **ends})
            shown = (f"{row['training gap']:.2f}/{row['test error']:.2f}" for row in rows[-len(seeds) :])
            print(name, f"{eta:.3g}", *shown, flush=True)
    frame = pd.DataFrame(rows).drop(columns=["selection", "holds 0"])
    return frame, pd.DataFrame(plain)


@contextmanager
def changed(constants):
    """Change constants of the default method for a while."""
    kept = {key: getattr(pi_control, key) for key in constants}
    try:
        for key, value in constants.items():
            setattr(pi_control, key, value)
        yield
    finally:
        for key, value in kept.items():
            setattr(pi_control, key, value)


def several(seeds):
    """Equalized odds without what is there for several events: training gaps of COMPAS, test errors on scenes."""
    parts = {
        "as it is": {},
        "gain not divided by the events": {"GAIN": 2 * pi_control.GAIN},
        "limit ±5 only": {"MOVED": 1e9, "TAKEN": pi_control.LIMIT},
        "neither": {"GAIN": 2 * pi_control.GAIN, "MOVED": 1e9, "TAKEN": pi_control.LIMIT},
    }
    data, rows = load("compas"), []
    for part, constants in parts.items():
        with changed(constants):
            splits = [Table(data, seed) for seed in seeds]
            chosen = [table.fit(None, constraint=EQUALIZED_ODDS) for table in splits]
            gaps = [t.wide_figures(h, EQUALIZED_ODDS)["training gap"] for t, h in zip(splits, chosen, strict=True)]
            errors = [Scenes(seed).fit(None)[0] for seed in seeds]
        shown = ", ".join(f"{error:.1f}" for error in errors)
        rows.append({"default": part, "COMPAS, training gap": round(np.mean(gaps), 2), "scenes, test errors": shown})
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def ablation(seeds):
    """The default method with one of its parts removed."""
    parts = {
        "as it is": {},
        "no memory (P alone)": {"PATIENCE": 1e9},
        "no proportional part (I alone)": {"GAIN": pi_control.GAIN / 1e6, "PATIENCE": pi_control.PATIENCE / 1e6},
        "no unit of slope": {"FLATTEST": 1e6, "GAIN": 4e6 * pi_control.GAIN},
        "aim half a point off": {"SWING": 0.005},
    }
    rows = []
    for name, splits in splits_of(seeds):
        for part, change in parts.items():
            with changed(change):
                gaps = [table.figures(table.fit(None))["training gap"] for table in splits]
            rows.append({"default": part, "table": name, "gap": np.mean(gaps)})
            print(rows[-1], flush=True)
    return (
        pd.DataFrame(rows)
        .pivot_table(index="default", columns="table", values="gap", sort=False)
        .round(2)
        .reset_index()
    )


def draw(frame, plain, path):
    """Training gap, test error and selection rates over eta, one line per method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    columns = ("training gap", "test error", "low")
    titles = ("training gap (DEO, points)", "test error (%)", "selection rate, times the plain net's")
    for axis, column, title in zip(axes, columns, titles, strict=True):
        for i, (name, rows) in enumerate(frame.groupby("method", sort=False)):
            mean = rows.groupby("eta")[column].mean()
            style = {"color": "black", "lw": 2.4, "zorder": 5} if i == 0 else {"color": f"C{i}", "lw": 1.3}
            label = name if column == columns[0] else None
            axis.plot(mean.index, mean.to_numpy(), marker="o", ms=4, label=label, **style)
            if column == "low":
                axis.plot(mean.index, rows.groupby("eta")["high"].mean().to_numpy(), marker="o", ms=4, **style)
        axis.set_xscale("log")
        axis.set_xlabel("eta")
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.25)
    axes[0].axhline(plain["training gap"].mean(), color="gray", ls="--", lw=1, label="plain net")
    axes[0].axhline(3, color="gray", ls=":", lw=1)
    axes[1].axhline(plain["test error"].mean(), color="gray", ls="--", lw=1)
    axes[2].axhline(1, color="gray", ls="--", lw=1)
    axes[2].set_yscale("log")
    axes[2].set_ylim(1 / 16, 12)
    axes[2].set_yticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
    axes[2].minorticks_off()
    figure.legend(loc="outside lower center", ncols=7, fontsize=9, frameon=False)
    figure.savefig(path, dpi=130)


def markdown(frame):
    lines = ["| " + " | ".join(map(str, frame.columns)) + " |", "|" + "---|" * len(frame.columns)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in frame.to_numpy()])


def main():
    parser = start(__doc__, seeds=5, first=200, sweep_seeds=2)
    parser.add_argument(
        "--write", type=Path, help="replace the tables between the markers of this page, and its figure"
    )
    parser.add_argument("--tables", help="data sets, separated by commas")
    parser.add_argument("--parts", default=",".join(PARTS), help="which of them to run, separated by commas")
    options = parser.parse_args()
    torch.set_num_threads(1)
    made, seeds = {}, range(options.first, options.first + options.seeds)
    if "default" in options.parts:
        made["default"] = default(seeds, options.tables and options.tables.split(","))
    for name, part in (("odds", odds), ("groups", groups), ("scenes", independent)):
        if name in options.parts:
            made[name] = part(seeds)
    if "ablation" in options.parts:
        made["ablation"] = ablation(range(3))
    if "several" in options.parts:
        made["several"] = several(range(3))
    if "sweep" in options.parts:
        frame, plain = sweep(range(options.first, options.first + options.sweep_seeds))
        made["sweep"] = frame.pivot_table(index="method", columns="eta", values="training gap", sort=False).round(1)
        made["sweep"].columns = [f"eta {eta:.3g}" for eta in FACTORS]
        made["sweep"] = made["sweep"].reset_index()
        ours = frame[frame["method"] == next(iter(SWEPT))]
        print(f"default: selection {ours['low'].min():.2f} to {ours['high'].max():.2f} times the plain net's")
        if options.write:
            draw(frame, plain, options.write.parents[1] / "images" / "nets-eta.png")
    for name, table in made.items():
        print(f"\n{name}\n{table.to_string(index=False)}")
        if options.write:
            write_between(options.write, name, markdown(table))


if __name__ == "__main__":
    main()
