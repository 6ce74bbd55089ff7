"""The paper's table of standard data sets, reproduced with every method it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
import pandas as pd

from fairalm.datasets import load, load_law
from fairalm.report.runs import FAIRALM_MODEL, OTHER_MODEL, PLAIN_MODEL
from reproduction.experiment import Block, Experiment, Result, Results
from reproduction.figures import new_figure, tidy
from reproduction.options import Names, Option, names, whole
from reproduction.page import Model, Page
from reproduction.tabular.job import PARTS, ROWS, TABLES, TableJob
from reproduction.tabular.table import MAIN, PAPER, blocks, latex, markdown_blocks, printed_blocks, summarise

KINDS = {"fairalm": FAIRALM_MODEL, "algorithm-1": FAIRALM_MODEL, "plain": PLAIN_MODEL, "constant": PLAIN_MODEL}


@dataclass(frozen=True)
class Tabular(Experiment):
    """Make the paper's table of standard data sets again, with every method it names.

    Each method is fitted on 60 % of the rows, its setting (one of at most five) is chosen by NVP on 20 %, and it is
    tested on 20 %. Law is not shipped: name its folder in FAIRALM_DATA or with --data-dir, or pass --download.

    Written are the table, the paper's numbers beside ours, as table.md, table.csv and table.tex; for each data set a
    figure of the trade-off and a page with every model; and in jobs/ the configuration and all figures of every
    method, data set and seed. Ten seeds take about half an hour on two cores. Stop it at any time: the same command
    continues where it was.

    For example:
      python -m reproduction tabular
      python -m reproduction tabular --seeds 3 --tables compas,german -o three
    """

    seeds: Annotated[int, Option("How many splits, one per seed.", whole(), quick=1)] = 10
    first: Annotated[int, Option("The first seed.", whole(0))] = 0
    tables: Annotated[
        Names, Option("Data sets, separated by commas.", names("data set", TABLES), "A,B", ("compas", "german"))
    ] = tuple(TABLES)
    rows: Annotated[Names, Option("Methods, separated by commas.", names("method", ROWS), "A,B")] = tuple(ROWS)
    download: Annotated[bool, Option("Fetch Law, which is not shipped, if it is not there.")] = False

    def prepare(self) -> None:
        if "law" in self.tables and self.download:
            load_law(self.data_dir, download=True)
        for name in self.tables:
            load(name, data_dir=self.data_dir)

    def jobs(self) -> list[TableJob]:
        """Every method on every data set with every seed; first with the protected attribute among the features."""
        seeds = range(self.first, self.first + self.seeds)
        places = product((True, False), self.tables, self.rows, seeds)
        return [TableJob(table, row, seed, with_protected) for with_protected, table, row, seed in places]

    def frames(self, results: Results) -> dict[str, pd.DataFrame]:
        return {"table": summarise(results)}

    def text(self, results: Results) -> Iterable[Block]:
        return printed_blocks(summarise(results))

    def markdown(self, results: Results) -> Iterable[Block]:
        return markdown_blocks(summarise(results))

    def files(self, results: Results) -> dict[str, str]:
        return {"table.tex": latex(summarise(results))}

    def figures(self, results: Results) -> Iterator[tuple[str, Any]]:
        for with_protected, name, lines in blocks(summarise(results), MAIN):
            if with_protected:
                yield f"tradeoff-{name}.png", tradeoff(lines, name)

    def pages(self, results: Results) -> Iterator[Page]:
        """What each method chose, a model per seed, with the protected attribute among the features."""
        order = ["fairalm", *ROWS]  # the first model has the verdict
        for name in self.tables:
            mine = [r for r in results if r["config"]["table"] == name and r["config"]["with_protected"]]
            mine.sort(key=lambda r: (order.index(r["config"]["row"]), r["config"]["seed"]))
            config = {"with_protected": True, "test_size": PARTS[-1]}
            yield Page(f"report-{name}", name, load(name, data_dir=self.data_dir), [*map(_model, mine)], config=config)


def _model(result: Result) -> Model:
    row, seed, chosen = result["config"]["row"], result["config"]["seed"], result["choices"][MAIN]
    kind, entry = KINDS.get(row, OTHER_MODEL), chosen.get("entry") or _expectations(chosen)
    return Model(row, kind, entry, seed, chosen["seconds"], {"tol": 0.0 if kind == FAIRALM_MODEL else None})


def _expectations(chosen: Result) -> dict[str, Any]:
    """The entry of a randomised method, which has expected figures and no counts."""
    rows, positives, none = chosen["rows"], chosen["positives"], {"low": None, "high": None}
    error = {"value": chosen["error"], **none, "n": rows, "n_min": rows}
    deo = {"value": chosen["deo"], **none, "n": sum(positives), "n_min": min(positives)}
    return {"groups": {}, "error": error, "deo": deo}


def tradeoff(lines: pd.DataFrame, name: str) -> Any:
    """Draw error against DEO, a point per method with the standard errors of both.

    Rings are the numbers that the paper prints. The band is the DEO that a model without any gap shows on as many rows.
    """
    figure = new_figure(8.5, 5)
    axes = figure.add_subplot()
    by_row = {str(line["row"]): line for line in lines.to_dict("records")}
    if "fairalm" in by_row:
        axes.axvspan(0, by_row["fairalm"]["chance"], color="#e3efdd", lw=0, zorder=0, label="a model without any gap")
    for row, line in by_row.items():
        color, root = ROWS[row].color, np.sqrt(line["seeds"])
        marker, needs = ("D", " (needs the group)") if ROWS[row].needs_group else ("o", "")
        bars = {"xerr": line["deo_sd"] / root, "yerr": line["error_sd"] / root, "elinewidth": 1, "zorder": 3}
        points = {"fmt": marker, "color": color, "ms": 8, "mec": "white", "label": ROWS[row].title + needs}
        axes.errorbar(line["deo"], line["error"], **bars, **points)
        if name in PAPER.get(row, {}):
            printed = PAPER[row][name]
            axes.plot(printed.deo, printed.error, "o", mfc="none", mec=color, ms=9, mew=1.4)
    axes.plot([], [], "o", mfc="none", mec="#666666", ms=9, label="ring: printed in the paper")
    axes.set(xlabel="test DEO, %", ylabel="test error, %")
    axes.set_xlim(left=-0.02 * axes.get_xlim()[1])  # a point at 0 is whole
    tidy(axes)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    title = f"{TABLES[name]}: mean over {lines['seeds'].max()} seeds, bars are standard errors"
    figure.suptitle(title, x=0.01, ha="left", size=11)
    return figure
