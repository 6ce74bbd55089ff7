"""``fairalm train``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from fairalm import console
from fairalm.cli import _options as opt
from fairalm.cli import _output as output
from fairalm.cli._shell import show_warning
from fairalm.folders import reserved
from fairalm.measures import MEASURES
from fairalm.measures.definitions import definition_of
from fairalm.measures.text import percent, with_interval
from fairalm.report.changes import changed_rates
from fairalm.report.facts import gather
from fairalm.report.words import rate_words
from fairalm.runs import Run, Settings, Source
from fairalm.runs import run as train_models
from fairalm.runs.choices import NETS
from fairalm.runs.nets import torchrun
from fairalm.runs.tracking import check_mlflow, log_run

PAGE = "report.html"


@opt.takes(source=(Source, opt.TRAIN_SOURCE), settings=(Settings, opt.TRAIN_SETTINGS))
def train(
    context: typer.Context,
    source: Source,
    settings: Settings,
    resume: Annotated[
        bool, typer.Option("--resume", help="Nets only: go on where a run into the same RUN was stopped.")
    ] = False,
    out: opt.NewRun = None,
    overwrite: opt.Overwrite = False,
    mlflow: opt.Mlflow = False,
    as_json: opt.Json = False,
) -> None:
    """Train a fair model and measure it on rows it has not seen.

    What you get: a table of the fair model beside the plain one and a table of how each group's rates change from the
    plain model to the fair one, with 95 % intervals, and a folder RUN with model.skops (for fairalm predict, or
    fairalm.load in Python), config.json, history.csv (one row per round), metrics.json (all figures; what --json
    prints) and report.html (a page, see fairalm report). Image models are saved as model.pt and settings.json instead,
    for fairalm.vision.image_model.load_image_model; plain/ is the plain net and test.csv lists the test images, for
    fairalm cam.

    A net writes checkpoints to RUN.checkpoint while it is trained; after a crash, give the same command with --resume.
    Under torchrun every process takes its part of each step: torchrun --nproc-per-node 2 -m fairalm train ...

    For example:
      fairalm train adult
      fairalm train adult --estimator mlp
      fairalm train people.csv --target hired --protected sex -o runs/hired
      fairalm train people.csv --target hired --protected sex --protected race
          --constraint equalized-odds --estimator boosting --dual-signal heldout
      fairalm train people.csv --target hired --protected sex
          --constraint my_module:MyConstraint
      fairalm train faces.csv --image-column image --target over30
          --protected gender --estimator last-layer
    """
    out = output.new_run(out, source, settings)
    if mlflow:
        check_mlflow()
    checkpoint = out.with_name(f"{out.name}.checkpoint") if settings.estimator in NETS else None
    with torchrun(settings) as is_first, reserved(out, overwrite=overwrite) if is_first else nullcontext():
        shown: Any = {"progress": console.is_terminal(), "command": opt.typed(context)}
        done = train_models(source, settings, checkpoint=checkpoint, resume=resume, **shown)
        if not is_first:
            return
        with done.saving(out, overwrite=overwrite) as part:
            no_page = output.write_report(part, part / PAGE)
    for warning in done.fair.warnings:
        show_warning(warning)
    logged = f"MLflow: run {log_run(out)}" if mlflow else ""
    if as_json:
        output.print_json({"run": out, **done.metrics()})
        return
    show_question(done)
    console.say()
    show_figures(done, out)
    model = "model.pt, settings.json, history.json, plain, test.csv" if settings.reads_images else "model.skops"
    rounds = "frontier.csv" if settings.is_frontier else "history.csv"
    console.say_path(f"Written to {out}: {model}, config.json, {rounds}, metrics.json")
    console.say_path(no_page or f"Page: {out / PAGE}")
    if mlflow:
        console.say_path(logged)


def _where(done: Run) -> str:
    """Where the gap was measured while training."""
    signal = getattr(done.fair.model, "dual_signal_", done.config["dual_signal"])
    return {"train": "on the training rows", "heldout": "on rows held out", "crossfit": "out of fold"}[signal]


def show_question(done: Run) -> None:
    """Print the people, what was asked for, and how it was trained."""
    config, fair, constraint = done.config, done.fair, done.constraint
    share = f"{percent(config['test_size'])} of them, seed {config['seed']}" if config["test_size"] else ""
    rows = f"Trained on {len(done.train):,} {config['rows_are']}, tested on {len(done.test):,} others"
    lines = [f"{rows} ({share or 'the file ' + config['test']})."]
    if config["image_column"] is None:
        lines.append(output.protected_sentence(done.samples))
    output.show_samples(done.samples, constraint, *lines)
    in_rounds = hasattr(fair.model, "n_oracle_calls_")
    rounds = output.count(fair.n_fits if in_rounds else len(fair.model.history_), "fit" if in_rounds else "epoch")
    console.say(
        f"Method {config['method']} on {config['estimator']}: {rounds} in {fair.seconds:.1f} s;"
        f" the plain model in {done.plain.seconds:.1f} s. Gap {_where(done)} {100 * fair.model.gap_:.2f} %."
    )


def show_figures(done: Run, out: Path) -> None:
    """Print the figures of the fair and the plain model on the test rows, and the verdict of the run in `out`."""
    constraint, rows_are = done.constraint, done.config["rows_are"]
    before, after = done.plain.measures, done.fair.measures
    titles = {name: kind.title for name, kind in MEASURES.items() if kind.kind != "ratio"}
    judged = definition_of(constraint)
    titles[judged.name] = f"{judged.title} <- constraint"
    order = sorted(titles, key=lambda name: (name != "error", name != judged.name))
    console.print_table(
        [f"on the test {rows_are}, 95 % intervals", "plain model", "fair model"],
        [(titles[name], before[name], after[name]) for name in order],
    )
    console.say()
    _show_changes(done, rows_are)
    console.say(gather([out], min_cell=1)["verdict"]["text"])  # the owner may see every count
    for note in dict.fromkeys(after[name].note for name in order if after[name].value is not None):
        if note:
            console.say(f"Note: {note}.")


def _show_changes(done: Run, rows_are: str) -> None:
    """Print each group's rates under the plain and the fair model: a gap can close because all of them fall."""
    before, after = (fit.splits["test"]["groups"] for fit in (done.plain, done.fair))
    rates, words = changed_rates(definition_of(done.constraint).rates), rate_words(done.samples.label, rows_are)
    console.say(f"Each group on the test {rows_are}, plain model -> fair model with its 95 % interval:")
    for shown in filter(None, (rates[:2], rates[2:])):  # two fit into the width
        console.print_table(
            ["group", *(words[rate]["meaning"] for rate in shown)],
            [
                (name, *(_change(before[name]["rates"][rate], after[name]["rates"][rate]) for rate in shown))
                for name in after
            ],
        )
        console.say()


def _change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    if after["value"] is None or before["value"] is None:
        return "nobody"
    return f"{100 * before['value']:.1f} -> {with_interval(after['value'], after['low'], after['high'])}"
