"""``fairalm train``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from fairalm.cli import _options as opt
from fairalm.cli import _pictures, _words
from fairalm.cli._data import Source
from fairalm.cli._models import ESTIMATORS, check_choice
from fairalm.cli._nets import ADVERSARIAL, BATCH_SIZE, EPOCHS, NETS, Nets, processes
from fairalm.cli._output import percent, print_json, print_table, say, say_error, say_path
from fairalm.cli._page import PAGE, write_report
from fairalm.cli._people import protected_sentence, show_people
from fairalm.cli._photos import TEST
from fairalm.cli._run import Run, run
from fairalm.cli._settings import MAX_ITER, SIGNALS, Settings, default_method, default_signal
from fairalm.cli._shell import as_options
from fairalm.cli._tables import write_table
from fairalm.exceptions import InputError
from fairalm.io import METRICS, check_new_folder, new_folder, save, write_atomic, write_json
from fairalm.measures import MEASURES
from fairalm.methods import METHODS
from fairalm.sklearn.classifier import PREDICTORS

EPOCHS_WORDS = f"{EPOCHS}; for pictures, {_pictures.EPOCHS}"
BATCH_WORDS = f"{BATCH_SIZE}; for pictures, {_pictures.BATCH_SIZE}"


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
    image_column: Annotated[
        str | None, typer.Option(metavar="COL", help="Of pictures: column of their paths, from DATA's folder.")
    ] = None,
    image_size: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=8, max=1024, help="Of pictures: pixels on a side.", show_default=str(_pictures.SIZE)
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Of a net for pictures: ImageNet weights to begin with, or 'imagenet'."),
    ] = None,
    constraint: opt.ConstraintOption = "equal-opportunity",
    tol: opt.Tol = 0.01,
    estimator: Annotated[
        str, typer.Option(metavar="NAME", help=f"Model: {', '.join((*ESTIMATORS, *NETS))}.")
    ] = "logistic",
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Rule: {', '.join(METHODS)}; of nets for pictures also {ADVERSARIAL}.",
            show_default=f"{default_method('logistic')}; for a net, {default_method('mlp')}",
        ),
    ] = None,
    eta: Annotated[float | None, typer.Option(metavar="X", help="Step size of the rule, if it has one.")] = None,
    max_iter: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Rounds of a rule, at most.", show_default=str(MAX_ITER)),
    ] = None,
    predictor: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(PREDICTORS),
            help="Of the models found: the best, the last, or a random one per person (all played; the best mixture).",
            show_default="single",
        ),
    ] = None,
    dual_signal: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(SIGNALS),
            help="Where the gap is measured in training. Forests, boosting and small tables need heldout or crossfit.",
            show_default=f"{default_signal('logistic')}; for a last-layer, {default_signal('last-layer')}",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Of a net: passes over the people.", show_default=EPOCHS_WORDS),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Of a net: people per step.", show_default=BATCH_WORDS),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of a net: cpu, cuda, mps.", show_default="cpu"),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Of a net: go on where a run into the same RUN was stopped."),
    ] = False,
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
    model.skops (for fairalm predict, or fairalm.load in Python), config.json, history.csv (one row per round),
    metrics.json (all figures; what --json prints) and report.html (a page of them, see fairalm report). Of a net for
    pictures model.pt and settings.json, for fairalm.vision.train.load_run, are in the place of model.skops; plain/ is
    the plain net and test.csv lists the test pictures, for fairalm cam.

    A net writes checkpoints to RUN.checkpoint while it is trained; after a crash, give the same command with --resume.
    Under torchrun every process takes its part of each step: torchrun --nproc-per-node 2 -m fairalm train ...

    For example:
      fairalm train adult
      fairalm train adult --estimator mlp
      fairalm train people.csv --target hired --protected sex -o runs/hired
      fairalm train people.csv --target hired --protected sex --protected race
          --constraint equalized-odds --estimator boosting --dual-signal heldout
      fairalm train faces.csv --image-column image --target over30
          --protected gender --estimator last-layer
    """
    check_choice("estimator", estimator, (*ESTIMATORS, *NETS))
    method = default_method(estimator) if method is None else method
    dual_signal = default_signal(estimator) if dual_signal is None else dual_signal
    settings = Settings(
        constraint,
        tol,
        estimator,
        method,
        eta,
        dual_signal,
        test_size=test_size,
        seed=seed,
        max_iter=max_iter,
        predictor=predictor,
        epochs=epochs,
        batch_size=batch_size,
        device=device,
        image_column=image_column,
        image_size=image_size,
        weights=weights,
    )
    is_long = settings.is_net or settings.is_pictures
    if resume and not is_long:
        raise InputError(f"--resume is not for --estimator {estimator}, which is fitted whole: leave it out.")
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
    done = nets = None
    with processes(settings.is_net and not settings.is_pictures, device) as is_first:
        if is_long:
            check_new_folder(out, overwrite=overwrite)
            nets = Nets(
                out,
                resume=resume,
                epochs=epochs or EPOCHS,
                batch_size=batch_size or BATCH_SIZE,
                device=device,
                dual_signal=dual_signal,
            )
            done = run(source, settings, nets)  # a run that is killed leaves its checkpoints and nothing else
        if not is_first:
            return
        with new_folder(out, overwrite=overwrite) as folder:
            done = done or run(source, settings)
            result = done.metrics(_words.typed(context))
            if settings.is_pictures:
                done.fair.model.save(folder)
                done.plain.model.save(folder / "plain")
                write_table(folder / TEST, done.test_pictures())
            else:
                save(done.fair.model, folder / "model.skops")
            write_json(folder / "config.json", done.config)
            write_atomic(folder / "history.csv", done.fair.model.history_.to_csv(index=False).encode())
            write_json(folder / METRICS, result)
        if nets is not None:
            nets.forget()
        page = write_report(out, out / PAGE)
    for warning in done.fair.warnings:
        say_error(f"Warning: {as_options(str(warning))}")
    if as_json:
        print_json({"run": out, **result})
        return
    show(done)
    written = f"model.pt, settings.json, history.json, plain, {TEST}" if settings.is_pictures else "model.skops"
    say_path(f"Written to {out}: {written}, config.json, history.csv, metrics.json")
    say_path(page)


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
    if config["image_column"] is None:
        say(protected_sentence(people))
    say(f"Criterion {_words.constraint_sentence(done.constraint, people.label, people.groups.n_groups)}")
    rounds = _words.count(len(fair.model.history_), "epoch")
    if hasattr(fair.model, "n_oracle_calls_"):
        rounds = _words.count(fair.model.n_oracle_calls_, "fit")
    say(
        f"Rule {config['method']} on {config['estimator']}: {rounds} in {fair.seconds:.1f} s;"
        f" the plain model in {done.plain.seconds:.1f} s. Training gap {100 * fair.model.gap_:.2f} %."
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
    say(_words.verdict_sentence(after[asked], done.constraint))
    for note in dict.fromkeys(after[name].note for name in shown if after[name].value is not None):
        if note:
            say(f"Note: {note}.")
