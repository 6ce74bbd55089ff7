"""``fairalm train``."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from fairalm.cli import _options as opt
from fairalm.cli import _words
from fairalm.cli._data import Source
from fairalm.cli._output import percent, print_json, print_table, say, say_error, say_path
from fairalm.cli._people import protected_sentence, show_people
from fairalm.cli._run import SIGNALS, Run, Settings, run
from fairalm.cli._shell import as_options
from fairalm.io import METRICS, new_folder, save, write_atomic, write_json
from fairalm.measures import MEASURES
from fairalm.methods import DEFAULT_METHOD, METHODS
from fairalm.sklearn.classifier import PREDICTORS


def train(
    context: typer.Context,
    data: opt.DataArgument,
    target: opt.Target = None,
    protected: opt.Protected = None,
    positive: opt.Positive = None,
    drop: opt.Drop = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="People to test on, instead of a share of DATA."),
    ] = None,
    test_size: opt.TestSize = 0.3,
    with_protected: opt.WithProtected = None,
    missing: opt.MissingOption = "error",
    merge_below: opt.MergeBelow = None,
    data_dir: opt.DataDir = None,
    download: opt.Download = False,
    constraint: opt.ConstraintOption = "equal-opportunity",
    tol: opt.Tol = 0.01,
    estimator: opt.EstimatorOption = "logistic",
    method: Annotated[str, typer.Option(metavar="NAME", help=f"Rule: {', '.join(METHODS)}.")] = DEFAULT_METHOD[
        "sklearn"
    ].name,
    eta: Annotated[float | None, typer.Option(metavar="X", help="Step size of the rule, if it has one.")] = None,
    max_iter: opt.MaxIter = 50,
    predictor: Annotated[
        str,
        typer.Option(
            metavar="|".join(PREDICTORS),
            help="Of the models found: the best, the last, or a random one per person (all played; the best mixture).",
        ),
    ] = "single",
    dual_signal: Annotated[
        str,
        typer.Option(
            metavar="|".join(SIGNALS),
            help="Where the gap is measured in training. Forests, boosting and small tables need heldout or crossfit.",
        ),
    ] = "train",
    seed: opt.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="RUN",
            help="Folder to write.",
            show_default="runs/DATA-CONSTRAINT-METHOD",
        ),
    ] = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Train a fair model and measure it on people it has not seen.

    What comes out: a table of the fair model beside the plain one, with 95 % intervals, and a folder RUN with
    model.skops (for fairalm predict, or fairalm.load in Python), config.json, history.csv (one row per round) and
    metrics.json (all figures; what --json prints).

    For example:
      fairalm train adult
      fairalm train people.csv --target hired --protected sex -o runs/hired
      fairalm train people.csv --target hired --protected sex --protected race
          --constraint equalized-odds --estimator boosting --dual-signal heldout
    """
    settings = Settings(
        constraint, tol, estimator, method, eta, max_iter, predictor, dual_signal, test_size=test_size, seed=seed
    )
    source = Source(
        data,
        target,
        protected or (),
        positive,
        drop or (),
        test=test,
        with_protected=with_protected,
        missing=missing,
        merge_below=merge_below,
        data_dir=data_dir,
        download=download,
    )
    if out is None:
        name = re.sub(r"[^\w.-]+", "-", Path(data).stem)
        out = Path("runs") / f"{name}-{constraint}-{method}"
    with new_folder(out, overwrite=overwrite) as folder:
        done = run(source, settings)
        result = done.metrics(shlex.join(["fairalm", *context.find_root().obj]))
        save(done.fair.model, folder / "model.skops")
        write_json(folder / "config.json", done.config)
        write_atomic(folder / "history.csv", done.fair.model.history_.to_csv(index=False).encode())
        write_json(folder / METRICS, result)
    for warning in done.fair.warnings:
        say_error(f"Warning: {as_options(str(warning))}")
    if as_json:
        print_json({"run": out, **result})
        return
    show(done)
    say_path(f"Written to {out}: model.skops, config.json, history.csv, metrics.json")


def show(done: Run) -> None:
    """Print the run: who, what was asked, and what came of it."""
    people, config, fair = done.people, done.config, done.fair
    show_people(people)
    how = (
        f"the file {config['test']}"
        if config["test"]
        else f"{percent(config['test_size'])} of them, seed {config['seed']}"
    )
    say(f"Trained on {len(done.train):,} people, tested on {len(done.test):,} others ({how}).")
    say(protected_sentence(people))
    say(f"Criterion {_words.criterion(done.constraint, people.label, people.groups.n_groups)}")
    say(
        f"Rule {config['method']} on {config['estimator']}:"
        f" {_words.count(fair.model.n_oracle_calls_, 'fit')} in {fair.seconds:.1f} s;"
        f" the plain model: 1 fit in {done.plain.seconds:.1f} s. Training gap {100 * fair.model.gap_:.2f} %."
    )
    say()
    before, after = done.before, done.after
    asked = done.constraint.measure
    shown = [name for name, definition in MEASURES.items() if definition.kind != "ratio"]
    shown.sort(key=lambda name: (name != "error", name != asked))
    print_table(
        ["on the test people, 95 % intervals", "plain model", "fair model"],
        [(_words.MEASURES[name] + " <- criterion" * (name == asked), before[name], after[name]) for name in shown],
    )
    say()
    say(_words.verdict_sentence(after[asked], done.constraint.tol))
    for note in dict.fromkeys(after[name].note for name in shown if after[name].value is not None):
        if note:
            say(f"Note: {note}.")
