"""The paper's experiment on X-rays of two hospitals, where it says that a fair net generalises better."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from fairalm.constraints import EqualOpportunity
from fairalm.datasets import split
from fairalm.datasets.images import load_xray
from fairalm.exceptions import InputError, ToleranceWarning
from fairalm.measures import rate_interval
from fairalm.measures.means import differences_of, means_of
from fairalm.measures.text import with_interval
from fairalm.methods import METHODS, Unconstrained
from fairalm.report.runs import FAIRALM_MODEL, PLAIN_MODEL
from reproduction.experiment import Block, Experiment, Job, Result, Results, Table
from reproduction.figures import COLORS, panels, plot_profile
from reproduction.options import Option, positives, whole
from reproduction.page import Model, Page, net_entry
from reproduction.seeds import chance_of, column_text, columns, paired, variance_ratio

UNCONSTRAINED = "unconstrained"
HOSPITAL = "hospital"  # in place of a method: an unconstrained net that predicts the hospital, for heat maps
TEST = 0.25  # share of the images that a seed sets aside, as in the paper
BATCH_SIZE, RATE = 32, 3e-4
REACHED = 0.2  # "FairALM reaches 20% testset error in fewer epochs"
MEASURES = {"error": "error", "deo": "DEO"}
SHARES = ["error", "deo", "signed", "chance", "train_error", "train_deo"]
COLUMNS = ["label", "seed", *SHARES, "epochs", "reached"]  # of table.csv
LEGEND = (
    "Percent on the test images. error and DEO: mean [95 % interval] and standard deviation over the seeds. to 20 %:"
    " median over the seeds of the epochs until the test error is 20 % or less (in brackets: nets that never do)."
)
CLAIMS_LEGEND = (
    "Seed by seed against the unconstrained net, with 95 % intervals. Means: the difference, in points. Variances: the"
    " ratio, by Pitman and Morgan. shown: the interval (for epochs, that of the share of later seeds among those that"
    " differ) supports the paper; open: it does not tell."
)


@dataclass(frozen=True)
class XrayJob(Job):
    """Train a net on three quarters of the X-rays and test it on the rest; the seed sets split, weights and order."""

    method: str
    seed: int
    eta: float | None = None
    epochs: int = 8
    size: int = 64
    pretrained: bool = False
    nets: Path | None = field(default=None, compare=False)  # folder in which to save the net

    @property
    def name(self) -> str:
        return f"{self.method}{'' if self.eta is None else f'-{self.eta:g}'}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        label = self.method if self.eta is None else f"{self.method}, eta {self.eta:g}"
        return {**super().config, "label": label, "test": TEST, "batch_size": BATCH_SIZE, "lr": RATE, "net": self.net}

    @property
    def net(self) -> str:
        """The name of the net."""
        return "efficientnet-lite0" if self.pretrained else "resnet18"

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Train the net; the ``entry`` of the test images, and as ``profile`` error and DEO after each epoch."""
        from fairalm.vision.imagenet import IMAGENET  # torch is slow to load
        from fairalm.vision.training import fit_images

        data = load_xray(data_dir, size=self.size)
        parts = split(data.y, data.groups, test_size=TEST, random_state=self.seed)
        if self.method == HOSPITAL:
            data = data.retarget(target=data.protected[0], protected=data.target)
        (train, test), begin = (data.rows(part) for part in parts), time.perf_counter()
        method = METHODS.get(self.method, Unconstrained)(**{"eta": self.eta} if self.eta else {})
        settings: dict[str, Any] = {"net": self.net, "weights": IMAGENET if self.pretrained else None}
        settings |= {"epochs": self.epochs, "batch_size": BATCH_SIZE, "lr": RATE}
        with warnings.catch_warnings(), threadpool_limits(1):  # sums in another order would give another net
            warnings.simplefilter("ignore", ToleranceWarning)  # the gap is in the table
            model = fit_images(  # nothing is chosen by the test images
                train, test, constraint=EqualOpportunity(), method=method, random_state=self.seed, **settings
            )
        seconds = time.perf_counter() - begin
        if self.nets is not None:
            model.save(self.nets / self.name.rpartition("-")[0])
        profile = model.history.filter(regex="^(train|valid)_(error|deo)")
        profile.columns = profile.columns.str.replace("valid_", "test_")
        entry = net_entry(test.y, model.logits(test), test.groups)
        return {"entry": entry, "profile": profile.to_dict("list"), "seconds": seconds}


@dataclass(frozen=True)
class Xray(Experiment):
    """Make the paper's experiment on X-rays of two hospitals again, seed by seed.

    A ResNet-18 learns to detect tuberculosis in the pooled Shenzhen and Montgomery images at 64 pixels, without a
    constraint and with the paper's Algorithm 2, under equal opportunity between the hospitals. A seed sets aside a
    quarter of the images for testing and sets the first weights; the methods share it, so that they are compared seed
    by seed. With --pretrained the net is EfficientNet-Lite0 with its ImageNet weights. The images are not shipped: give
    the folder above xray/ in FAIRALM_DATA or with --data-dir.

    Written are the means over the seeds and the paper's claims one by one, as table.md and table.csv (all nets);
    xray.png, the paper's figure; profiles.png, error and DEO by epoch; report.html, a page with every net; and in nets/
    the nets of the first seed, with one that predicts the hospital, for `fairalm cam`.

    For example:
      python -m reproduction xray --quick -o quick
      python -m reproduction xray --size 32 --first 100 --eta 0.1,1 -o tried
      python -m reproduction xray --pretrained --size 128 -o pretrained
    """

    seeds: Annotated[int, Option("How many splits and nets, one per seed.", whole(), quick=3)] = 10
    first: Annotated[int, Option("The first seed.", whole(0))] = 0
    # 1 was chosen on validation images of other seeds
    eta: Annotated[tuple[float, ...], Option("FairALM's eta, or several: A,B.", positives, "A,B", None, "1")] = (1.0,)
    pi_control: Annotated[bool, Option("Also train with this library's default method.")] = False
    epochs: Annotated[int, Option("Passes over the images.", whole(), quick=3)] = 8
    size: Annotated[int, Option("Pixels on a side.", whole(32), "PIXELS")] = 64
    pretrained: Annotated[bool, Option("Train EfficientNet-Lite0 from its ImageNet weights, not ResNet-18.")] = False

    def prepare(self) -> None:
        load_xray(self.data_dir, size=self.size)

    def jobs(self) -> list[XrayJob]:
        methods = [(UNCONSTRAINED, None), *(("fairalm", eta) for eta in self.eta)]
        methods += [("pi-control", None)] * self.pi_control
        nets = [(method, self.first + i, eta) for method, eta in methods for i in range(self.seeds)]
        nets.append((HOSPITAL, self.first, None))
        folders = {self.first: self.out / "nets"}
        return [XrayJob(*net, self.epochs, self.size, self.pretrained, folders.get(net[1])) for net in nets]

    def frames(self, results: Results) -> dict[str, pd.DataFrame]:
        return {"table": net_table(results)[COLUMNS]}

    def facts(self, results: Results) -> dict[str, Any]:
        # the means over the seeds, in place of every net
        tables = {"table": summarise(net_table(results)), "claims": claims(net_table(results))}
        return {name: table.to_dict("records") for name, table in tables.items()}

    def text(self, results: Results) -> Iterator[Block]:
        nets = net_table(results)
        yield f"Tuberculosis from X-rays; {nets['seed'].nunique()} seeds, {nets['epochs'].max()} epochs"
        yield from (means_text(nets), "", f"{LEGEND} {small_print(results)}")
        if not (table := claims(nets)).empty:
            rows = table[["label", "claim", "measured", "verdict"]].to_numpy().tolist()
            head = ["method", "lower in the paper", "measured", "verdict"]
            yield from ("", Table(head, rows, left=2), "", CLAIMS_LEGEND)

    def markdown(self, results: Results) -> Iterator[Block]:
        yield from filter(None, self.text(results))
        yield from changes_text(net_table(results))

    def figures(self, results: Results) -> Iterator[tuple[str, Any]]:
        yield "xray.png", draw_boxes(net_table(results))
        yield "profiles.png", draw_profiles(_without_hospital(results))

    def pages(self, results: Results) -> Iterator[Page]:
        models, data = [*map(_model, _without_hospital(results))], load_xray(self.data_dir, size=self.size)
        yield Page("report", "xray", data, models, config={"image_column": "file", "test_size": TEST})


def _model(result: Result) -> Model:
    config, profile = result["config"], result["profile"]
    kind = PLAIN_MODEL if config["method"] == UNCONSTRAINED else FAIRALM_MODEL
    settings = {name: config[name] for name in ("net", "eta", "epochs", "batch_size", "lr", "size")}
    curves = {"error": profile["test_error"], "gap": profile["test_deo"]}
    return Model(config["label"], kind, result["entry"], config["seed"], result["seconds"], settings, curves)


def _without_hospital(results: Results) -> list[Result]:
    nets = [result for result in results if result["config"]["method"] != HOSPITAL]
    if not nets:
        raise InputError("Every net for tuberculosis failed; see the warnings above.")
    return nets


def net_table(results: Results) -> pd.DataFrame:
    """One line per net that predicts tuberculosis: ``COLUMNS``, then, named in words, what else may change.

    ``signed`` is Montgomery's false negative rate less Shenzhen's, ``reached`` the first epoch with an error of 20 %.
    """
    lines = []
    for result in _without_hospital(results):
        config, entry, errors = result["config"], result["entry"], [*enumerate(result["profile"]["test_error"], 1)]
        groups, rates = entry["groups"], {"tpr": "true positive rate", "fpr": "false positive rate", "error": "error"}
        line = {"label": config["label"], "seed": config["seed"], "error": entry["error"]["value"]}
        line |= {"deo": entry["deo"]["value"], "signed": entry["deo"]["signed"], "chance": chance_of(entry)}
        line |= {name: result["profile"][name][-1] for name in ("train_error", "train_deo")}
        reached = min((epoch for epoch, error in errors if error <= REACHED), default=np.inf)
        line |= {"epochs": config["epochs"], "reached": float(reached)}
        line |= {f"{rates[rate]}, {place}": groups[place]["rates"][rate]["value"] for rate in rates for place in groups}
        lines.append(line | {f"error after epoch {epoch}": error for epoch, error in errors})
    return pd.DataFrame(lines)


def summarise(nets: pd.DataFrame) -> pd.DataFrame:
    """One line per method: means and spreads, the median epoch that reaches 20 %, and how many nets never do."""
    lines = []
    for name, part in nets.groupby("label", sort=False):
        means = means_of(part[SHARES], shares=set(SHARES) - {"signed"})
        line = {"label": name, "seeds": len(part), **columns(means), "epochs": part["epochs"].max()}
        line |= {f"{share}_sd": part[share].std() for share in SHARES} | {"median": part["reached"].median()}
        lines.append(line | {"never": int(np.isinf(part["reached"]).sum())})
    return pd.DataFrame(lines)


def claims(nets: pd.DataFrame) -> pd.DataFrame:
    """What the paper says is lower than in the unconstrained net; a ``value`` of ``neutral`` is no difference."""
    lines = []
    for name, fair, plain in paired(dict([*nets.set_index("seed").groupby("label", sort=False)]), UNCONSTRAINED):
        means = columns(differences_of(fair[[*MEASURES]], plain[[*MEASURES]]))
        rows: list[tuple[str, Any, float, str]] = []
        for measure, word in MEASURES.items():
            mean = [means[measure + end] for end in ("", "_low", "_high")]
            rows.append((f"mean {word}", mean, 0.0, column_text(means, measure, sign="+")))
            ratio = variance_ratio(fair[measure], plain[measure])
            text = "undefined" if np.isnan(ratio[0]) else f"× {with_interval(*ratio, 2, unit='', scale=1)}"
            rows.append((f"variance of {word}", ratio, 1.0, text))
        sooner, later = (int((sign * fair["reached"] < sign * plain["reached"]).sum()) for sign in (1, -1))
        share = [later / (sooner + later), *rate_interval(later, sooner + later)] if sooner + later else [np.nan] * 3
        rows.append(("epochs to 20 % error", share, 0.5, f"sooner in {sooner}, later in {later} seeds"))
        for claim, (value, low, high), neutral, measured in rows:
            verdict = "shown" if high < neutral else "the opposite" if low > neutral else "open"
            line = {"label": name, "claim": claim, "value": value, "low": low, "high": high, "neutral": neutral}
            lines.append(line | {"measured": measured, "verdict": verdict})
    return pd.DataFrame(lines)


def means_text(nets: pd.DataFrame) -> Table:
    """The lines of :func:`summarise`."""
    rows = []
    for line in summarise(nets).to_dict("records"):
        spreads = [f"{100 * line[f'{name}_sd']:.1f}".replace("nan", "") for name in MEASURES]
        median = f"> {line['epochs']}" if np.isinf(line["median"]) else f"{line['median']:g}"
        row = [line["label"], column_text(line, "error"), spreads[0], column_text(line, "deo"), spreads[1]]
        rows.append([*row, median + f" ({line['never']})" * bool(line["never"])])
    return Table(["method", "error", "sd", "DEO", "sd", "to 20 %"], rows)


def changes_text(nets: pd.DataFrame) -> Iterator[Block]:
    """What else changes, in the columns that are not in table.csv."""
    others = [str(name) for name in nets if name not in COLUMNS]
    for name, fair, plain in paired(dict([*nets.set_index("seed").groupby("label", sort=False)]), UNCONSTRAINED):
        before, change = columns(means_of(plain[others])), columns(differences_of(fair[others], plain[others]))
        yield f"What else changes with {name}: means with 95 % intervals, and differences seed by seed."
        rows = [[key, column_text(before, key), column_text(change, key, sign="+")] for key in others]
        yield Table(["figure", "unconstrained", "change"], rows)


def small_print(results: Results) -> str:
    """What a DEO on so few images can show, the training images, and how well a net predicts the hospital."""
    nets, groups = net_table(results), _without_hospital(results)[0]["entry"]["groups"]
    few = " and ".join(f"{counts['tp'] + counts['fn']} of {name}" for name, counts in groups.items())
    means = (100 * nets.groupby("label", sort=False)[["train_error", "train_deo"]].mean()).itertuples()
    trained = "; ".join(f"{name} {error:.1f} and {deo:.1f}" for name, error, deo in means)
    text = f"A test part has {few} with tuberculosis: there, a net without any gap shows a DEO of"
    text += f" {100 * nets['chance'].mean():.1f} on average. Error and DEO on the training images in the last epoch:"
    for result in [result for result in results if result["config"]["method"] == HOSPITAL]:
        error = with_interval(*(result["entry"]["error"][key] for key in ("value", "low", "high")))
        seed = result["config"]["seed"]
        trained += f". A net that predicts the hospital errs on {error} of seed {seed}'s test images"
    return f"{text} {trained}."


def _color(name: str) -> str:
    return COLORS.get(name.split(",")[0], "#999999")


def draw_boxes(nets: pd.DataFrame) -> Any:
    """The paper's figure: boxes of test error and DEO over the seeds, and how many nets have reached 20 % by when."""
    names, chance = list(nets["label"].unique()), 100 * nets["chance"].mean()
    titles = [f"test {word}, %" for word in MEASURES.values()]
    figure, grid = panels(11, 4, {"": ""}, [*titles, f"nets with test error ≤ {100 * REACHED:.0f} % so far, %"], "")
    *boxes, steps = grid.values()
    for axes, measure in zip(boxes, MEASURES, strict=True):
        wide = 100 * nets.pivot(index="seed", columns="label", values=measure)[names]
        axes.plot(range(len(names)), wide.to_numpy().T, color="#bbbbbb", lw=0.7, zorder=1)
        for place, name in enumerate(names):
            values, line = wide[name].dropna(), {"color": _color(name)}
            styles = {f"{part}props": line for part in ("box", "whisker", "cap")} | {"medianprops": line | {"lw": 2}}
            axes.boxplot(values, positions=[place], widths=0.5, showfliers=False, **styles)
            axes.plot(np.full(len(values), place), values, "o", ms=4, alpha=0.7, **line)
        axes.set_xticks(range(len(names)), [name.replace(", ", ",\n") for name in names])
    boxes[1].axhline(chance, color="#333333", ls=":", lw=1, label="a net without any gap, on average")
    boxes[1].set_ylim(0, 1.15 * boxes[1].get_ylim()[1])
    epochs = np.arange(nets["epochs"].max() + 1)
    for shift, name in enumerate(names):
        reached = nets.loc[nets["label"] == name, "reached"].to_numpy()
        share = 100 * (reached[:, None] <= epochs).mean(axis=0)
        # a little apart, or equal curves would hide each other
        steps.step(epochs, share + 0.7 * shift, where="post", color=_color(name), label=name)
    steps.set(xlabel="epoch", ylim=(0, 105))
    boxes[1].legend(fontsize=8, frameon=False, loc="upper right")
    steps.legend(fontsize=8, frameon=False, loc="upper left")
    figure.suptitle(f"Tuberculosis in X-rays of two hospitals, {nets['seed'].nunique()} seeds; grey lines join a seed")
    return figure


def draw_profiles(nets: Results) -> Any:
    """Error and DEO after each epoch: each seed thin, the mean thick, the training batches dashed."""
    names = list(dict.fromkeys(net["config"]["label"] for net in nets))
    rows = {measure: f"{word}, %" for measure, word in MEASURES.items()}
    figure, grid = panels(11, 6, rows, names, "epoch", sharex=True, sharey="row")
    styles: dict[str, Any] = {"test": {"lw": 2.5, "label": "test, mean of the seeds"}}
    styles["train"] = {"thin": False, "lw": 1.5, "ls": "--", "label": "training, mean"}
    for (measure, name), axes in grid.items():
        profiles = [net["profile"] for net in nets if net["config"]["label"] == name]
        for part, style in styles.items():
            plot_profile(axes, [profile[f"{part}_{measure}"] for profile in profiles], color=_color(name), **style)
        if measure == "error":
            axes.axhline(100 * REACHED, color="#333333", lw=0.8, ls=":")
    grid["error", names[0]].legend(fontsize=8, frameon=False)
    return figure
