"""The paper's table of verb pairs, on Waterbirds and on scenes with imSitu's counts, and on imSitu if it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

from fairalm.console import is_terminal
from fairalm.datasets.images import imsitu_counts
from fairalm.progress import progress_bar
from fairalm.report.runs import FAIRALM_MODEL, OTHER_MODEL, PLAIN_MODEL
from reproduction.experiment import Block, Experiment, Job, Result, Results
from reproduction.figures import COLORS, interval_point, panels, plot_profile
from reproduction.options import Names, Option, names, whole
from reproduction.page import Model, Page
from reproduction.verbs import table
from reproduction.verbs.job import PAIRS, ROWS, SEVEN, SWEPT, HeadJob, keep_features, load_images

SETS = ("waterbirds", "scenes")
ROWS_ARE = {"waterbirds": "birds", "scenes": "scenes"}  # imSitu has people
KINDS = {"unconstrained": PLAIN_MODEL, "fairalm": FAIRALM_MODEL, "": FAIRALM_MODEL}  # of the models on the pages
PROFILES = {"error": "test error, %", "deo": "test DEO, %"}
BY = {False: "multipliers moved by training batches", True: "multipliers moved by held-out images"}


@dataclass(frozen=True)
class Verbs(Experiment):
    """Make the paper's table of verb pairs again: seven methods, error and DEO with intervals.

    imSitu's images are hard to get, so the methods run on Waterbirds (protected: the background) and on drawn scenes
    with imSitu's real numbers of men and women in the four pairs; with --imsitu also on imSitu. Each trains a linear
    head on the features of EfficientNet-Lite0. Its eta is chosen by NVP on the validation part. On Waterbirds, half of
    that part moves the multipliers of four more methods instead. The data are not shipped: give the folder above
    waterbirds/ and imsitu/ in FAIRALM_DATA or with --data-dir.

    Written are the tables, with the paper's numbers beside ours, what a DEO of 0 can mean on a dozen people, and how
    much each method depends on eta, as table.md and table.csv; tradeoff.png, profiles.png (error and DEO by epoch) and
    steadiness.png; and for each data set a page with every head.

    For example:
      python -m reproduction verbs --quick -o quick
      python -m reproduction verbs --imsitu path/to/imsitu
    """

    seeds: Annotated[int, Option("How many heads and sets of scenes.", whole(), quick=2)] = 5
    sets: Annotated[Names, Option("Images, separated by commas.", names("set of images", SETS), "A,B")] = SETS
    imsitu: Annotated[str | None, Option("imSitu's folder, with its images: adds the real pairs.", str, "DIR")] = None

    def jobs(self) -> list[HeadJob]:
        kinds = [*self.sets, *["imsitu"] * (self.imsitu is not None)]
        pairs = [(kind, verb) for kind in kinds for verb in (PAIRS if kind != "waterbirds" else [""])]
        return [
            HeadJob(name, method, seed, self.quick, self.out / "features")
            for name in ("-".join(filter(None, pair)) for pair in pairs)
            for method in (ROWS if name == "waterbirds" else SEVEN)
            for seed in range(self.seeds)
        ]

    def _images(self) -> Iterator[tuple[str, Any]]:
        """Each data set, with the scenes of the first seed."""
        for data, size in {job.data: job.config["size"] for job in self.jobs()}.items():
            yield data, load_images(data, 0, size, self.data_dir, self.imsitu)

    def prepare(self) -> None:
        for _ in self._images():
            pass

    def collect(self, run: Callable[[Sequence[Job]], list[Result]]) -> list[Result]:
        """Compute the features of all images first."""
        needed = {(job.data, job.seed * job.data.startswith("scenes"), job.config["size"]): None for job in self.jobs()}
        fresh = [("scenes-fresh", 0, size) for data, _, size in needed if data.startswith("scenes")][:1]
        with progress_bar(len(needed) + len(fresh), shown=is_terminal()) as update:
            for done, (data, seed, size) in enumerate([*needed, *fresh]):
                update(done, f"features of {data}")
                keep_features(data, seed, size, self.out / "features", data_dir=self.data_dir, imsitu=self.imsitu)
        return run(self.jobs())

    def _zeros(self) -> pd.DataFrame:
        pairs = PAIRS if self.imsitu or "scenes" in self.sets else {}
        return table.zeros({verb: imsitu_counts(self.imsitu or self.data_dir, pair=pairs[verb]) for verb in pairs})

    def frames(self, results: Results) -> dict[str, pd.DataFrame]:
        return {"table": table.summarise(results)}

    def facts(self, results: Results) -> dict[str, Any]:
        tables = {"differences": table.differences(results), "steadiness": table.steadiness(results)}
        return {name: found.to_dict("records") for name, found in {**tables, "zero": self._zeros()}.items()}

    def text(self, results: Results) -> Iterator[Block]:
        return table.blocks(results, self._zeros(), self.seeds)

    def markdown(self, results: Results) -> Iterable[Block]:
        return filter(None, table.blocks(results, self._zeros(), self.seeds, full=True))

    def figures(self, results: Results) -> Iterator[tuple[str, Any]]:
        yield "profiles.png", draw_profiles(results)
        if "waterbirds" in self.sets:
            yield "tradeoff.png", draw_tradeoff(table.summarise(results))
        if len(swept := table.sweeps(results)):
            yield "steadiness.png", draw_steadiness(swept)

    def pages(self, results: Results) -> Iterator[Page]:
        for data, images in self._images():
            mine = [result for result in results if result["config"]["data"] == data]
            mine.sort(key=lambda result: result["config"]["method"] != table.OURS)  # the first model has the verdict
            config = {"image_column": "file", "rows_are": ROWS_ARE.get(data, "people")}
            yield Page(f"report-{data}", data, images, [*map(model, mine)], None, config)


def model(result: Result) -> Model:
    """A head on a page."""
    config, history, row = result["config"], result["history"], ROWS[result["config"]["method"]]
    kind = KINDS.get(row.method, OTHER_MODEL)
    settings = {name: config[name] for name in ("net", "size", "epochs", "batch_size", "lr", "tol")}
    settings |= config["settings"][result["chosen"]] | ({"tol": None} if kind == PLAIN_MODEL else {})
    curves = {"error": history["error"], "gap": history["deo"]} if history else {}
    return Model(row.title, kind, result["entry"], config["seed"], None, settings, curves)


def _style(method: str) -> dict[str, Any]:
    return {"color": COLORS.get(ROWS[method].method, "#000000"), "label": ROWS[method].title}


def draw_profiles(results: Results) -> Any:
    """Draw error and DEO on the test part after each epoch, mean over the seeds, a column for each data set."""
    curves: dict[tuple[str, str], list[Any]] = {}
    for result in results:
        if result["history"]:
            curves.setdefault((result["config"]["data"], result["config"]["method"]), []).append(result["history"])
    data = dict.fromkeys(table.data_title(name) for name, _ in curves)
    figure, grid = panels(2.7 * len(data) + 1.8, 5.4, PROFILES, data, "epoch", sharex="col")
    for (name, method), histories in curves.items():
        line = {"ls": "--" if ROWS[method].is_heldout else "-", "lw": 2 if ROWS[method].method == "fairalm" else 1.2}
        for measure in PROFILES:
            axes = grid[measure, table.data_title(name)]
            plot_profile(axes, [history[measure] for history in histories], thin=False, **line, **_style(method))
    for axes in grid.values():
        axes.set_ylim(bottom=0)
    handles = next(iter(grid.values())).get_legend_handles_labels()
    figure.legend(*handles, loc="outside right upper", fontsize=8, frameon=False)
    return figure


def draw_tradeoff(means: pd.DataFrame) -> Any:
    """Draw error and worst-group error against DEO on Waterbirds, with the intervals of the test part."""
    rows = {"error": "test error, %", "worst": "error of the worst group, %"}
    figure, grid = panels(8, 7, rows, ["Waterbirds"], "test DEO, %", sharex=True)
    for (name, _), axes in grid.items():
        for line in means[means["data"] == "waterbirds"].to_dict("records"):
            row = ROWS[line["method"]]
            marker, size = ("*", 11) if not row.method else ("s" if row.is_heldout else "o", 8)
            interval_point(axes, line, name, fmt=marker, ms=size, elinewidth=0.8, **_style(line["method"]))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=8, frameon=False)
    return figure


def draw_steadiness(swept: pd.DataFrame) -> Any:
    """Draw error and DEO against eta: a line for each method, a band of one standard deviation over the seeds."""
    figure, grid = panels(9, 6, PROFILES, BY.values(), "eta", sharex=True, sharey="row")
    for (measure, title), axes in grid.items():
        for method in (name for name in SWEPT if BY[ROWS[name].is_heldout] == title):
            part, style = swept[swept["method"] == method].groupby("eta")[measure], _style(method)
            mean, sd = 100 * part.mean(), 100 * part.std().fillna(0.0)
            axes.plot(mean.index, mean, "o-", ms=4, **style)
            axes.fill_between(mean.index, mean - sd, mean + sd, color=style["color"], alpha=0.15, lw=0)
        axes.set(xscale="log")
        if measure == "error":
            axes.legend(fontsize=8, frameon=False)
    return figure
