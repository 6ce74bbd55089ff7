"""``fairalm train``."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from fairalm._validation import IntArray
from fairalm.cli import _options as opt
from fairalm.cli import _words
from fairalm.cli._data import People, Source, kind_of, read_people
from fairalm.cli._models import Fit, check_choice, make_constraint, make_estimator, make_method, scores_of, timed
from fairalm.cli._output import console, print_json, print_table, say, say_error, say_path, working
from fairalm.cli._shell import as_options
from fairalm.constraints import Constraint
from fairalm.datasets import preprocess
from fairalm.io import METRICS, data_entry, metrics, new_folder, save, write_atomic, write_json
from fairalm.measures import MEASURES, Measure, measure_all, splits_entry
from fairalm.sklearn import FairALMClassifier
from fairalm.sklearn.classifier import PREDICTORS

SIGNALS = ("train", "heldout", "crossfit")


def train(
    context: typer.Context,
    data: opt.DataArgument,
    target: opt.Target = None,
    protected: opt.Protected = None,
    positive: opt.Positive = None,
    drop: opt.Drop = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="People to test on, instead of a share of DATA.", rich_help_panel=opt.DATA),
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
    method: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"Rule: {', '.join(_words.METHODS)}.", rich_help_panel=opt.MODEL),
    ] = "secant",
    eta: Annotated[
        float | None,
        typer.Option(metavar="X", help="Step size of the rule, if it has one.", rich_help_panel=opt.MODEL),
    ] = None,
    max_iter: opt.MaxIter = 50,
    predictor: Annotated[
        str,
        typer.Option(
            metavar="|".join(PREDICTORS),
            help="Which of the models found: the best one, the last, or a random one per person.",
            rich_help_panel=opt.MODEL,
        ),
    ] = "single",
    dual_signal: Annotated[
        str,
        typer.Option(
            metavar="|".join(SIGNALS),
            help="Where the gap is measured in training. Forests and small tables need heldout or crossfit.",
            rich_help_panel=opt.MODEL,
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
            rich_help_panel=opt.OUT,
        ),
    ] = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Train a fair model and say, with intervals, how it fares against the plain one on people it has not seen.

    What comes out: a table, and a folder RUN with model.skops (for fairalm predict, or fairalm.load in Python),
    config.json, history.csv (one row per round) and metrics.json (all figures; the JSON that --json prints).

    \b
    Examples:
      fairalm train adult
      fairalm train people.csv --target hired --protected sex -o runs/hired
      fairalm train people.csv --target hired --protected sex --protected race \\
          --constraint equalized-odds --estimator boosting --dual-signal heldout
    """
    check_choice("predictor", predictor, PREDICTORS)
    check_choice("dual signal", dual_signal, SIGNALS)
    rule = make_method(method, eta)
    model = make_estimator(estimator, seed)
    make_constraint(constraint, tol, None)
    source = Source(
        data, target, protected or (), positive, drop or (), test, with_protected, missing, merge_below, data_dir, download
    )
    if out is None:
        out = Path("runs") / f"{re.sub(r'[^\w.-]+', '-', Path(data).stem)}-{constraint}-{method}"
    with new_folder(out, overwrite=overwrite) as folder:
        with working(f"reading {data}"):
            people = read_people(source)
            train_rows, test_rows = people.split(test_size, seed)
        criterion = make_constraint(constraint, tol, people.data.positive)
        pipeline = make_pipeline(preprocess(people.X), model)
        X, y = people.X.iloc[train_rows], people.labels[train_rows]
        classifier = FairALMClassifier(
            pipeline,
            constraint=criterion,
            method=rule,
            max_iter=max_iter,
            predictor=predictor,  # type: ignore[arg-type]  # checked above
            dual_signal=dual_signal,  # type: ignore[arg-type]
            random_state=seed,
            verbose=console(stderr=True).is_terminal,
        )
        fair = timed(lambda: classifier.fit(X, y, sensitive_features=people.names[train_rows]))
        for warning in fair.warnings:
            say_error(f"Warning: {as_options(str(warning))}")
        with working("fitting the plain model"):
            plain = timed(lambda: clone(pipeline).fit(X, y))
        fair.model.verbose = False
        config = {
            **asdict(source),
            **{"target": people.data.target, "positive": people.data.positive, "protected": people.data.protected},
            **{"with_protected": people.with_protected, "features": {c: kind_of(people.X[c]) for c in people.X.columns}},
            **{"constraint": constraint, "tol": tol, "estimator": estimator, "method": method, "eta": eta},
            **{"max_iter": max_iter, "predictor": predictor, "dual_signal": dual_signal},
            **{"test_size": None if test else test_size, "seed": seed},
        }
        result = _metrics(people, config, fair, plain, train_rows, test_rows)
        result["command"] = shlex.join(["fairalm", *context.find_root().obj])
        save(fair.model, folder / "model.skops")
        write_json(folder / "config.json", config)
        write_atomic(folder / "history.csv", fair.model.history_.to_csv(index=False).encode())
        write_json(folder / METRICS, result)
    if as_json:
        print_json({"run": out, **result})
    else:
        _show(people, criterion, config, fair, plain, train_rows, test_rows)
        say_path(f"Written to {out}: model.skops, config.json, history.csv, metrics.json")


def _metrics(
    people: People, config: dict[str, Any], fair: Fit, plain: Fit, train_rows: IntArray, test_rows: IntArray
) -> dict[str, Any]:
    """Everything metrics.json holds; the plain model's splits stand beside the fair one's."""

    def splits(model: Any) -> dict[str, Any]:
        made = {}
        for name, rows in (("train", train_rows), ("test", test_rows)):
            X = people.X.iloc[rows]
            made[name] = splits_entry(
                people.labels[rows],
                model.predict(X),
                scores_of(model, X, people.data.positive),
                sensitive_features=people.groups_of(rows),
                target=people.data.positive,
                train=name == "train",
            )
        return made

    model = fair.model
    test_deo = make_constraint(config["constraint"], config["tol"], None).measure
    test_splits = splits(model)
    found = test_splits["test"][test_deo]
    return dict(
        metrics(
            data=data_entry(people.data.name, people.data.frame, people.labels, people.groups)
            | {"train": len(train_rows), "test": len(test_rows), "dropped": people.n_dropped},
            config=config,
            splits=test_splits,
            plain={"splits": splits(plain.model), "seconds": plain.seconds},
            criterion={
                "measure": test_deo,
                "tol": config["tol"],
                "verdict": _words.verdict(Measure(name=test_deo, **found), config["tol"]),
            },
            training={
                "gap": model.gap_,
                "error": model.error_,
                "saddle_gap": model.saddle_gap_,
                "optimality_gap": model.optimality_gap_,
                "fits": model.n_oracle_calls_,
                "seconds": fair.seconds,
                "warnings": [str(warning) for warning in fair.warnings],
            },
            history={str(name): column.tolist() for name, column in model.history_.items()},
        )
    )


def _show(
    people: People,
    criterion: Constraint,
    config: dict[str, Any],
    fair: Fit,
    plain: Fit,
    train_rows: IntArray,
    test_rows: IntArray,
) -> None:
    show_people(people)
    how = f"the file {config['test']}" if config["test"] else f"{config['test_size']:.0%} of them, seed {config['seed']}"
    say(f"Trained on {len(train_rows):,} people, tested on {len(test_rows):,} others ({how}).")
    say(protected_sentence(people))
    say(f"Criterion {_words.criterion(criterion, people.label, people.groups.n_groups)}")
    say(
        f"Rule {config['method']} on {config['estimator']}: {fair.model.n_oracle_calls_} fits in {fair.seconds:.1f} s;"
        f" the plain model: 1 fit in {plain.seconds:.1f} s. Training gap {100 * fair.model.gap_:.2f} %."
    )
    say()

    def measured(model: Any) -> dict[str, Measure]:
        predicted = model.predict(people.X.iloc[test_rows])
        groups = people.groups_of(test_rows)
        return measure_all(
            people.labels[test_rows], predicted, sensitive_features=groups, target=people.data.positive
        )

    before, after = measured(plain.model), measured(fair.model)
    shown = [name for name, definition in MEASURES.items() if definition.kind != "ratio"]
    shown.sort(key=lambda name: (name != "error", name != criterion.measure))
    print_table(
        ["on the test people, 95 % intervals", "plain model", "fair model"],
        [
            (f"{_words.MEASURES[name]}{'  <- the criterion' if name == criterion.measure else ''}", before[name], after[name])
            for name in shown
        ],
    )
    say()
    say(_words.verdict_sentence(after[criterion.measure], criterion.tol))
    for note in dict.fromkeys(after[name].note for name in shown if after[name].note and after[name].value is not None):
        say(f"Note: {note}.")


def show_people(people: People) -> None:
    """Print how many there are, by group."""
    positive, groups = people.data.y, people.groups
    say(
        f"{people.data.name}: {len(positive):,} people, {positive.mean():.1%} with {people.label}; protected:"
        f" {', '.join(people.data.protected)}."
    )
    if people.n_dropped:
        say(f"Left out: {people.n_dropped:,} people without a protected value.")
    print_table(
        ["group", "people", "share", people.label],
        [
            (name, f"{size:,}", f"{size / len(positive):.1%}", f"{positive[groups.codes == code].mean():.1%}")
            for code, (name, size) in enumerate(zip(groups.names, groups.sizes, strict=True))
        ],
    )
    say()


def protected_sentence(people: People) -> str:
    """Say whether the model sees the protected columns, and how to change it."""
    columns = ", ".join(people.data.protected)
    if people.with_protected:
        return f"The model may use {columns} (--without-protected keeps it out)."
    return f"The model does not see {columns} (--with-protected lets it)."
