"""``fairalm frontier``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from fairalm import console
from fairalm.cli import _options as opt
from fairalm.cli import _output as output
from fairalm.cli._shell import show_warning
from fairalm.cli.train import PAGE, show_figures, show_question
from fairalm.folders import reserved
from fairalm.measures import definition_of
from fairalm.measures.text import percent, points, with_interval
from fairalm.runs import FrontierSettings, Run, Source
from fairalm.runs import run as train_models
from fairalm.runs.frontier import Curve
from fairalm.runs.tracking import check_mlflow, log_run

PICTURE = "frontier.png"
SHOWN = {"tol": (0.0, 0.01, 0.02, 0.05, 0.1, 0.2), "ratio": (1.0, 0.95, 0.9, 0.8, 0.7, 0.5)}  # rows of the table
SOURCE = {name: option for name, option in opt.TRAIN_SOURCE.items() if not name.startswith("image")}


@opt.takes(source=(Source, SOURCE), settings=(FrontierSettings, opt.FRONTIER_SETTINGS))
def frontier(
    context: typer.Context,
    source: Source,
    settings: FrontierSettings,
    out: opt.NewRun = None,
    overwrite: opt.Overwrite = False,
    mlflow: opt.Mlflow = False,
    as_json: opt.Json = False,
) -> None:
    """Fit once, see the whole trade-off, and choose a point of it.

    The model and a second one, which learns who belongs to which group, are fitted once. From their probabilities the
    best classifier for every tolerance follows without another fit. Predicting does not need the protected column,
    unless the model may use it.

    What you get: a table of the curve, error against gap for several tolerances, on training people that the models
    had not seen (out of fold); the chosen point, at --tol, beside the plain model on the test people; all with 95 %
    intervals. And a folder RUN with model.skops (for fairalm predict, which takes another --tol too, or fairalm.load in
    Python), config.json, frontier.csv (the curve, twenty tolerances), metrics.json (all figures; what --json prints),
    frontier.png (the curve) and report.html (a page, see fairalm report). model.skops holds the labels, groups
    and estimated probabilities of the training people, and no other column: keep it as you keep the table.

    For example:
      fairalm frontier compas --without-protected
      fairalm frontier people.csv --target hired --protected sex --tol 0.02 -o run
      fairalm predict run new_people.csv --tol 0.05 -o predicted.csv
    Accept 30 %, every group at least four fifths as often as white people:
      fairalm frontier loans.csv --target repaid --protected race
          --constraint demographic-parity --ratio 0.8 --reference white
          --acceptance 0.3
    A missed case costs five times a false alarm, and no group may be worse off:
      fairalm frontier patients.csv --target ill --protected sex
          --estimator boosting --cost-fn 5 --floor plain
    """
    out = output.new_run(out, source, settings)
    if mlflow:
        check_mlflow()
    shown: Any = {"progress": console.is_terminal(), "command": opt.typed(context)}
    with reserved(out, overwrite=overwrite):
        done = train_models(source, settings, **shown)
        with done.saving(out, overwrite=overwrite) as part:
            no_picture = output.write_picture(part, part / PICTURE)
            no_page = output.write_report(part, part / PAGE)
    for warning in done.fair.warnings:
        show_warning(warning)
    logged = f"MLflow: run {log_run(out)}" if mlflow else ""
    if as_json:
        output.print_json({"run": out, **done.metrics()})
        return
    show_question(done)
    console.say()
    assert done.curve is not None
    _show_curve(done, done.curve)
    show_figures(done, out)
    console.say_path(f"Written to {out}: model.skops, config.json, frontier.csv, metrics.json")
    console.say_path(no_picture or f"Picture: {out / PICTURE}")
    console.say_path(no_page or f"Page: {out / PAGE}")
    if mlflow:
        console.say_path(logged)


def _show_curve(done: Run, curve: Curve) -> None:
    """Print some points of the curve, the plain model and the better constant."""
    kept, varied = curve.to_dict(), curve.varied
    chosen, baselines = kept["chosen"], {row["model"]: row for row in kept["baselines"]}
    constant = min("everyone", "nobody", key=lambda name: float(baselines[name]["error"]))
    rows = [row for row in kept["points"] if row[varied] in SHOWN[varied] and row[varied] != chosen[varied]]
    rows = [row for row in rows if any(row[name] != baselines["plain"][name] for name in ("error", "gap"))]
    rows = sorted([*rows, chosen], key=lambda row: float(row[varied]), reverse=varied == "tol")
    names = {"everyone": f"{done.samples.label} for everyone", "nobody": f"{done.samples.label} for nobody"}
    rows_are = done.config["rows_are"]
    console.say(f"The curve on the training {rows_are}, out of fold, 95 % intervals:")
    console.print_table(
        [
            "tolerance" if varied == "tol" else "ratio",
            "error",
            definition_of(done.constraint).title,
            "predicted positive",
        ],
        [
            ("plain model", *_figures(baselines["plain"])),
            *((_asked(row[varied], varied, is_chosen=row is chosen), *_figures(row)) for row in rows),
            (names[constant], *_figures(baselines[constant])),
        ],
    )
    console.say()
    console.say(
        "Certificate: under the estimated probabilities no classifier within the limits costs over"
        f" {100 * done.fair.model.certificate_:.2f} points less than the chosen point."
    )
    console.say()


def _asked(value: float, varied: str, *, is_chosen: bool) -> str:
    return (points(value) if varied == "tol" else f"{value:.3g}") + " <- chosen" * is_chosen


def _figures(row: Mapping[str, Any]) -> tuple[str, ...]:
    pairs = ((row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in ("error", "gap"))
    texts = ("undefined" if value is None or value != value else with_interval(value, *ends) for value, *ends in pairs)
    return (*texts, percent(row["selection"]))
