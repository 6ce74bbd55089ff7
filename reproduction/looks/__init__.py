"""Where nets look: leak and focus of an unconstrained net and of FairALM's, on generated and real images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd

from fairalm.datasets import Dataset
from fairalm.datasets.images import load_celeba, load_xray
from fairalm.exceptions import InputError
from fairalm.measures.means import mean_interval, means_of
from fairalm.measures.text import plus_minus
from fairalm.report.maps import Maps
from fairalm.report.runs import FAIRALM_MODEL, PLAIN_MODEL
from fairalm.vision.heat_map_figure import draw_heat_maps
from reproduction.experiment import Block, Experiment, Result, Results, Table
from reproduction.figures import COLORS, panels
from reproduction.looks.job import AGAIN, ATTRIBUTE, BOTH, FAIR, SETS, UNCONSTRAINED, LooksJob, group_names
from reproduction.options import Names, Option, names, whole
from reproduction.page import Model, Page
from reproduction.seeds import columns

LOADERS: dict[str, Callable[..., Any]] = {"xray": load_xray, "faces": load_celeba}
CHOICES = {"scenes": ("scenes", "scenes-independent"), "xray": ("xray",), "faces": ("faces",)}
SETS_HELP = f"Images, separated by commas: {', '.join(CHOICES)}."
SETS_OPTION = Option(SETS_HELP, names("set", CHOICES), "A,B", None, "all whose data are there")
ATTRIBUTES = {"xray": "hospital", "faces": "gender"}
#: kind -> measure -> words, in the order of the tables
WORDS = {
    "": {"error": "error", "gap": "gap"},
    "leak": {"overlap": "leak: shared", "chance": "by chance", "excess": "above chance"},
    "focus": {"inside": "focus: mass inside", "overlap": "highest inside", "chance": "by chance"}
    | {"peak_outside": "peak outside"},
}
PANELS = [("leak", "excess"), ("focus", "inside"), ("focus", "overlap"), ("focus", "peak_outside")]
#: what the paper claims -> the measure, the sign that FairALM's less the unconstrained net's should have, and its words
CLAIMS = {
    "less leak": ("leak", "excess", -1, "overlaps with gender classification task indicating gender leak."),
    "more focus (faces: on the left)": ("focus", "inside", 1, "Interestingly, these regions are on the left side"),
    "looks outside less often": ("focus", "peak_outside", -1, "the number of such cases are far fewer for FairALM"),
}
LEGEND = (
    "Percent on test images: mean over the seeds ± half of its 95 % interval over them; difference: FairALM less"
    " unconstrained, seed by seed. gap: of the constraint, equalized odds on the scenes, equal opportunity (DEO) on the"
    " others. leak: how much of the highest fifth of a map is also in that of the net for the protected attribute; by"
    " chance: the same between different images. focus: how much of a map lies in the mask; by chance: the mask's"
    " share of the image; highest inside: of as many highest places as the mask has."
)


@dataclass(frozen=True)
class Looks(Experiment):
    """Measure the paper's most interesting claim: a fair net looks elsewhere.

    Three nets see the same images: one for the protected attribute, an unconstrained one for the label, and FairALM's.
    Heat maps show where each of them looks. Leak is how much a net looks where the net for the attribute does; focus,
    how much it looks where it should: at the disc of a generated scene, the lungs of an X-ray, and, since the paper
    says that its fair net does, at the viewer's left half of a face. On scenes whose label and colour are independent,
    the two nets should not differ. X-rays and faces are not shipped: give the folder above xray/ and celeba/ in
    FAIRALM_DATA or with --data-dir; without it, only the scenes are run.

    Written are a table per set with intervals over the seeds, as table.md and table.csv; looks.png, the differences;
    looks-SET.png, the paper's triptychs, of the first seed; and report-SET.html, a page with every net.

    For example:
      python -m reproduction looks --sets scenes --seeds 3 -o scenes
      python -m reproduction looks --quick -o quick
    """

    seeds: Annotated[int | None, Option("How many runs, one per seed.", whole(), "N", 2, "10; 30 of scenes")] = None
    sets: Annotated[Names | None, SETS_OPTION] = None

    @cached_property
    def missing(self) -> dict[str, str]:
        """Why the images of some sets cannot be read; an error if they were asked for by name."""
        problems = {}
        for name in [name for name in self.sets or CHOICES if name in LOADERS]:
            try:
                LOADERS[name](self.data_dir, size=SETS[name].size)
            except InputError as error:
                if self.sets:
                    raise
                problems[name] = f"Without {name}: {error}"
        return problems

    def prepare(self) -> None:
        self.missing  # noqa: B018

    def jobs(self) -> list[LooksJob]:
        sets = [part for name in self.sets or CHOICES if name not in self.missing for part in CHOICES[name]]
        # scenes are cheap, and each seed has scenes of its own
        n_seeds = {name: self.seeds or (10 if SETS[name].correlation is None else 30) for name in sets}
        jobs = [LooksJob(name, seed, self.quick) for name in sets for seed in range(n_seeds[name])]
        return sorted(jobs, key=lambda job: (job.plan.correlation is None, job.seed))  # the cheap ones first

    def frames(self, results: Results) -> dict[str, pd.DataFrame]:
        return {"table": summarise(results)}

    def text(self, results: Results) -> Iterator[Block]:
        yield from (*self.missing.values(), *text_blocks(summarise(results)))

    def markdown(self, results: Results) -> Iterator[Block]:
        return filter(None, text_blocks(summarise(results)))

    def figures(self, results: Results) -> Iterator[tuple[str, Any]]:
        yield "looks.png", draw(results)
        for result in [result for result in results if "sheet" in result]:
            name, sheet = result["config"]["set"], result["sheet"]
            test = LooksJob(name, 0, self.quick).read(self.data_dir)[2].rows(sheet["rows"])
            titles = {ATTRIBUTE: ATTRIBUTES.get(name, "colour"), UNCONSTRAINED: UNCONSTRAINED, FAIR: "FairALM"}
            maps = {title: np.array(sheet["maps"][net], dtype=float) for net, title in titles.items()}
            yield f"looks-{name}.png", partial(draw_heat_maps, np.asarray(test.pixels), maps, masks=test.masks)

    def pages(self, results: Results) -> Iterator[Page]:
        for name, mine in _by_set(results).items():
            train, valid, test, _ = LooksJob(name, 0, self.quick).read(self.data_dir)
            parts = {"train": train, "valid": valid, "test": test}
            frame = pd.concat(part.frame.assign(split=word) for word, part in parts.items())
            roles = {role: getattr(test, role) for role in ("target", "protected", "positive")}
            data, models = Dataset.from_frame(frame, **roles), [model for result in mine for model in _models(result)]
            config = {"constraint": mine[0]["config"]["constraint"], "image_column": "file"}
            groups, maps = group_names(name, data.groups), _maps(mine[0], self.out / f"looks-{name}.png")
            yield Page(f"report-{name}", name, data, models, groups, config, maps)


def _models(result: Result) -> Iterator[Model]:
    config = result["config"]
    for name, kind in ((UNCONSTRAINED, PLAIN_MODEL), (FAIR, FAIRALM_MODEL)):
        settings = {key: config[key] for key in ("size", "epochs", "batch_size", "lr")}
        settings |= {"tol": config["tol"], "eta": result["eta"]} if name == FAIR else {}
        yield Model(name, kind, result["nets"][name]["entry"], config["seed"], settings=settings)


def _maps(result: Result, sheet: Path) -> Maps | None:
    if "sheet" not in result or not sheet.is_file():
        return None
    nets = {name: result["nets"][name] for name in (UNCONSTRAINED, FAIR)}
    tables = {kind: {name: net[kind] for name, net in nets.items()} for kind in ("leak", "focus")}
    return Maps(sheet, {"data": {"images": nets[FAIR]["focus"]["inside"]["n"]}, **tables})


def _by_set(results: Results) -> dict[str, list[Result]]:
    sets = {name: [result for result in results if result["config"]["set"] == name] for name in SETS}
    return {name: mine for name, mine in sets.items() if mine}


def summarise(results: Results) -> pd.DataFrame:
    """Means over the seeds as shares, with 95 % intervals: a line per set, ``kind`` and ``measure``, see ``WORDS``.

    A column for each net, for the ``difference`` (FairALM's less the unconstrained net's, paired), ``both`` (how often
    both nets look outside) and, on scenes, ``again`` (a second unconstrained net's less the first's).
    """
    lines = []
    for name, mine in _by_set(results).items():
        for kind, measure in [(kind, measure) for kind, measures in WORDS.items() for measure in measures]:
            line = {"set": name, "kind": kind, "measure": measure, "seeds": len(mine)}
            shares = () if measure == "excess" else (UNCONSTRAINED, FAIR, BOTH)
            lines.append(line | columns(means_of(seed_table(mine, kind, measure), shares=shares)))
    return pd.DataFrame(lines)


def seed_table(results: Results, kind: str, measure: str) -> pd.DataFrame:
    """A row per seed with the columns of :func:`summarise`; NaN where a measure is undefined."""
    nets = [{name: net.get(kind, net) for name, net in result["nets"].items()} for result in results]
    rows = [{name: net[measure]["value"] for name, net in row.items() if measure in net} for row in nets]
    table = pd.DataFrame(rows, dtype=float)
    table["difference"] = table[FAIR] - table[UNCONSTRAINED]
    return table.assign(**{AGAIN: table[AGAIN] - table[UNCONSTRAINED]}) if AGAIN in table else table


def text_blocks(table: pd.DataFrame) -> Iterator[Block]:
    """A table and notes for each set, and what the intervals say about the paper's claims."""
    sets = [SETS[name] for name in table["set"].unique()]
    for plan, (_, part) in zip(sets, table.groupby("set", sort=False), strict=True):
        yield f"{plan.title}; mask: {plan.mask}; {part['seeds'].max()} seeds"
        lines: dict[Any, Any] = {(line["kind"], line["measure"]): line for line in part.to_dict("records")}
        shown = (UNCONSTRAINED, FAIR, "difference")
        rows = [[WORDS[kind][key], *(_figure(line, column) for column in shown)] for (kind, key), line in lines.items()]
        yield Table(["%", UNCONSTRAINED, "FairALM", "difference"], rows)
        peak, attribute = lines["focus", "peak_outside"], _figure(lines["", "error"], ATTRIBUTE)
        note = f"The net for the protected attribute errs on {attribute} % of the images. Both nets have their peak"
        note += f" outside {plan.mask} in {_figure(peak, BOTH)} % of them."
        if plan.correlation is not None:
            excess, inside = (_figure(lines[key], AGAIN) for key in PANELS[:2])
            note += f" A second unconstrained net, from other first weights, differs from the first by {excess} in leak"
            note += f" above chance, {inside} in mass inside and {_figure(peak, AGAIN)} in peak outside."
        yield from (note, "")
    rows = []
    for words, (kind, measure, sign, _) in CLAIMS.items():
        differences = table[(table["kind"] == kind) & (table["measure"] == measure)].filter(regex="difference_")
        ends = np.sort(sign * differences.to_numpy(float), axis=1)  # low and high
        verdicts = ["holds" if low > 0 else "the reverse" if high < 0 else "not shown" for low, high in ends]
        rows.append([words, *verdicts])
    yield from (Table(["the paper on FairALM's net", *(plan.title for plan in sets)], rows), "", LEGEND)


def _figure(line: Mapping[Any, Any], column: str) -> str:
    mean = 100 * line[column]
    return "undefined" if np.isnan(mean) else plus_minus(mean, 100 * line[f"{column}_high"] - mean)


def draw(results: Results) -> Any:
    """Draw FairALM less unconstrained: a panel per measure, a line per set, a tick per seed."""
    sets, color = _by_set(results), COLORS[FAIR]
    titles = {f"{kind}: {WORDS[kind][measure].removeprefix('focus: ')}": (kind, measure) for kind, measure in PANELS}
    figure, grid = panels(11, 1.6 + 0.6 * len(sets), {"": ""}, titles, "", sharey=True)
    for (_, title), axes in grid.items():
        for y, mine in enumerate(sets.values()):
            seeds = 100 * seed_table(mine, *titles[title])["difference"]
            mean, *ends = mean_interval(seeds)
            axes.plot(seeds, np.full(len(seeds), y + 0.22), "|", color="#999999", ms=6)
            axes.plot(ends, [y, y], color=color, lw=2, solid_capstyle="butt")
            axes.plot(mean, y, "o", color=color, ms=7, mec="white")
        axes.axvline(0, color="#444444", lw=0.8)
        axes.set_yticks(range(len(sets)), [SETS[name].title for name in sets])
        axes.set_ylim(len(sets) - 0.5, -0.5)
    figure.supxlabel("FairALM less unconstrained, points; bar: 95 % interval over the seeds, ticks: seeds", size=9)
    return figure
