"""``python -m reproduction celeba``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairalm.io import write_atomic
from reproduction import old
from reproduction import old as opt
from reproduction.old import (
    PAGE,
    Jobs,
    Quick,
    drawn,
    print_json,
    print_table,
    run_all,
    say,
    say_path,
    working,
    write_report,
    write_table,
)

if TYPE_CHECKING:
    import pandas as pd


def celeba(
    context: typer.Context,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")] = Path("fairalm-celeba"),
    seeds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Seeds of the small nets.", show_default="3; 1 with --quick")
    ] = None,
    quick: Quick = False,
    jobs: Jobs = -1,
    data_dir: opt.DataDir = None,
    as_json: opt.Json = False,
) -> None:
    """Make the paper's results on CelebA again: who is "attractive", fairly by gender.

    Three parts. Fair last layers on a net that is not trained on faces (tolerances 0.06 and 0.01). FairALM and the l2
    penalty at the paper's values of eta on its three-layer ReLU net, at 28 pixels: from epoch to epoch, and once
    more with gradients that are never set to zero, which is what the authors' l2 does. One ResNet-18 without and one
    with FairALM, at 64 pixels, whose eta is chosen on the validation part by the small nets.

    Give the folder of CelebA in FAIRALM_DATA or with --data-dir. Settings are chosen on its validation part; error, DEO
    and false negative rates are of its test part, the printed ones beside them. It also writes table.md, two .csv
    files, two pictures, report.html, a page with every model, and, under nets/, both ResNets for fairalm cam. With
    29,175 faces it takes some 30 minutes on two cores. Stop it at any time: the same command goes on where it was.

    For example:
      python -m reproduction celeba --data-dir path/to/data
      python -m reproduction celeba --quick -o small
    """
    from fairalm.datasets.images import load_celeba
    from reproduction.celeba import Plan, choose_eta, run_cell
    from reproduction.celeba.cell import FEATURES, TRAINING
    from reproduction.celeba.page import as_run
    from reproduction.celeba.summary import ablation, markdown, points

    start = time.perf_counter()
    plan = Plan.quick() if quick else Plan()
    plan = plan if seeds is None else replace(plan, seeds=seeds)
    with working("reading the faces"):
        for size in (FEATURES["size"], *(how["size"] for how in TRAINING.values())):
            faces = load_celeba(data_dir, size=size, limit=plan.limit)

    def run(cells: Any) -> tuple[list[Any], int]:
        return run_all(cells, out, run_cell, jobs=jobs, data_dir=data_dir, is_quiet=as_json)

    results, n_failed = run(plan.small(out))
    eta = choose_eta(results)
    large, n_more = run(plan.large(out, eta))
    results, n_failed = [*results, *large], n_failed + n_more
    table, sweep = points(results), ablation(results)
    write_atomic(out / "table.md", markdown(table, sweep, eta).encode())
    write_table(out / "table.csv", table)
    write_table(out / "eta.csv", sweep)
    no_picture = drawn(lambda: _draw(results, table, out))
    page = write_report(as_run(results, faces, old.typed(context)), out / PAGE)
    if as_json:
        found = {"table": table.to_dict("records"), "etas": sweep.to_dict("records"), "eta": eta, "failed": n_failed}
        print_json({"out": out, **found})
        return
    _show(table, sweep, eta)
    if no_picture:
        say(no_picture)
    say_path(f"Written to {out} (table.md, .csv; pictures; nets; cells), after {time.perf_counter() - start:.0f} s")
    say_path(page)


def _show(table: pd.DataFrame, sweep: pd.DataFrame, eta: float) -> None:
    from reproduction.celeba.summary import (
        ABLATION_HEAD,
        ABLATION_LEGEND,
        POINT_HEAD,
        POINT_LEGEND,
        ablation_rows,
        point_rows,
    )

    print_table(POINT_HEAD, point_rows(table, short=True))
    say(POINT_LEGEND)
    say()
    print_table(ABLATION_HEAD, ablation_rows(sweep, short=True))
    say(ABLATION_LEGEND)
    say(f"FairALM's eta for ResNet-18 by the validation part: {eta:g}.")


def _draw(results: Sequence[Any], table: pd.DataFrame, out: Path) -> None:
    from reproduction.celeba.figure import draw_points, draw_profiles

    draw_points(table, out / "points.png")
    draw_profiles(results, out / "profiles.png")
