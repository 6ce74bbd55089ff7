"""Nets on the four tables: the default method, untuned, and every method over three decades of eta.

    python benchmarks/nets.py [--seeds 5] [--first 200] [--sweep_seeds 2] [--write docs/nets.md]

A net with two hidden layers of 64 units, trained by Adam with a rate going from 0.001 down to 0 along a cosine, in
batches of 256, for 30 epochs (at least 300 steps, which matters for German). Nothing is chosen per table. The constants
of `fairalm.PIControl` were chosen on splits 0 to 4; the splits here start at 200.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from common import start, tables, write_between
from torch import nn

import fairalm
from fairalm import EqualOpportunity, InputError
from fairalm.datasets import load, preprocess, split
from fairalm.measures import group_rates, measure_of
from fairalm.methods import pi_control
from fairalm.nn import ConstrainedLoss

BATCH, EPOCHS, STEPS, HIDDEN, RATE = 256, 30, 300, 64, 1e-3
FACTORS = (1 / 30, 1 / 10, 1 / 3, 1, 3, 10, 30)
SWEPT = {
    "pi-control (default)": fairalm.PIControl,
    "Algorithm 2": fairalm.FairALM,
    "augmented": fairalm.AugmentedLagrangian,
    "Lagrangian": fairalm.Lagrangian,
    "proxy-Lagrangian": fairalm.ProxyLagrangian,
    "l2 penalty": fairalm.L2Penalty,
}


class Table:
    """One split of a data set, as tensors."""

    def __init__(self, data, seed):
        X = data.features_frame(with_protected=True)
        self.seed, self.names = seed, data.groups.to_numpy()
        self.train, self.test = split(data.y, data.groups, random_state=seed)
        made = preprocess(X.iloc[self.train]).fit(X.iloc[self.train]).transform(X)
        self.X, self.y = torch.tensor(np.asarray(made), dtype=torch.float32), torch.tensor(data.y, dtype=torch.float32)
        self.group = torch.tensor(pd.factorize(data.groups, sort=True)[0])

    def fit(self, method, epochs=EPOCHS, after=False, **settings):
        """Train a net and predict; with `after`, the dual step uses the losses after the primal step (Algorithm 2)."""
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
            EqualOpportunity(),
            method,
            n_groups=2,
            dual_from="observe" if after else "forward",
            **settings,
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
        with torch.no_grad():
            return (model(self.X)[:, 0] > 0).int().numpy()

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
            kept = {key: getattr(pi_control, key) for key in change}
            for key, value in change.items():
                setattr(pi_control, key, value)
            gaps = [table.figures(table.fit(None))["training gap"] for table in splits]
            for key, value in kept.items():
                setattr(pi_control, key, value)
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
    parser.add_argument("--parts", default="default,ablation,sweep", help="which of the three to run")
    options = parser.parse_args()
    torch.set_num_threads(1)
    made = {}
    if "default" in options.parts:
        made["default"] = default(
            range(options.first, options.first + options.seeds), options.tables and options.tables.split(",")
        )
    if "ablation" in options.parts:
        made["ablation"] = ablation(range(3))
    if "sweep" in options.parts:
        frame, plain = sweep(range(options.first, options.first + options.sweep_seeds))
        made["sweep"] = frame.pivot_table(index="method", columns="eta", values="training gap", sort=False).round(1)
        made["sweep"].columns = [f"eta {eta:.3g}" for eta in FACTORS]
        made["sweep"] = made["sweep"].reset_index()
        ours = frame[frame["method"] == next(iter(SWEPT))]
        print(f"default: selection {ours['low'].min():.2f} to {ours['high'].max():.2f} times the plain net's")
        if options.write:
            draw(frame, plain, options.write.parent / "images" / "nets-eta.png")
    for name, table in made.items():
        print(f"\n{name}\n{table.to_string(index=False)}")
        if options.write:
            write_between(options.write, name, markdown(table))


if __name__ == "__main__":
    main()
