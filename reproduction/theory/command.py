"""``python -m reproduction theory``."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated

import typer

from fairalm.io import metrics, write_json
from reproduction import old as opt
from reproduction.old import print_json, print_table, progress, say, say_path, write_table
from reproduction.theory.checks import Check
from reproduction.theory.study import CHECKED, EVERY, PER_DECADE, STEPS, Study, run_study

RESULTS, CURVES, PICTURE = "theory.json", "theory.csv", "theory.png"


def theory(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")] = Path("fairalm-theory"),
    rounds: Annotated[
        int, typer.Option(metavar="T", min=10, max=10_000_000, help="Most rounds, for the picture.")
    ] = 100_000,
    models: Annotated[int, typer.Option(metavar="N", min=2, help="Logistic models of Adult.")] = 300,
    games: Annotated[int, typer.Option(metavar="N", min=0, help="Random games.")] = 20,
    seed: opt.Seed = 0,
    rows: Annotated[int | None, typer.Option(hidden=True, help="Use fewer people.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Check the paper's lemmas and its theorem by running Algorithm 1.

    On logistic models of Adult, under equal opportunity and demographic parity, on random games, and on a made-up one
    that Algorithm 1 needs long for.

    What comes out, in about three minutes: a table of the claims, whether each held, and where it came closest to
    failing or failed most; what the theorem leaves open, in sentences; theory.json with all of that, theory.csv with
    the measured saddle gaps, and theory.png, their picture. A later run replaces them. A claim that fails is a finding,
    not an error: the exit code is 0.

    For example:
      python -m reproduction theory
      python -m reproduction theory --rounds 10000 --models 100 -o theory
    """
    start = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)  # before the work, in case it cannot be
    with progress(len(STEPS)) as step:
        study = run_study(rounds, seed=seed, n_models=models, n_games=games, rows=rows, on_step=step)
    result = metrics(
        data={"name": "adult", "rows": study.n_people},
        config={"rounds": rounds, "models": models, "games": games, "seed": seed},
        splits={},
        checks=[check.to_dict() for check in study.checks],
        findings=[{"name": f.name, "text": f.text, "figures": f.figures} for f in study.findings],
        slopes=study.slopes.to_dict("records"),
        seconds=time.perf_counter() - start,
    )
    write_json(out / RESULTS, result)
    write_table(out / CURVES, study.curves)
    picture = _draw(study, out / PICTURE)
    if as_json:
        print_json({"out": out, "picture": out / PICTURE if picture is None else None, **result})
        return
    print_table(
        ["claim", "closest, or worst, at", "holds?", "measured", "bound"], [_row(c) for c in study.checks], left=2
    )
    say()
    further = f", then {PER_DECADE} a decade up to {min(rounds, CHECKED):,}" if rounds > EVERY else ""
    say(f"T: every one up to {min(rounds, EVERY):,}{further}.")
    for finding in study.findings:
        say()
        say(finding.text)
    say()
    print_table(["exponent of T, last two decades", "L_T", "the game itself"], _slopes(study))
    say()
    say_path(picture or f"Picture: {out / PICTURE}")
    say_path(f"Figures: {out / RESULTS}, {out / CURVES}, after {result['seconds']:.0f} s")


def _row(check: Check) -> tuple[str, ...]:
    verdict = "yes" if check.holds else "fails"
    return (check.name, check.where, verdict, f"{check.measured:.2g}", f"{check.bound:.2g}")


def _slopes(study: Study) -> list[tuple[str, ...]]:
    rows = []
    for row in study.slopes.to_dict("records"):
        values = (row["augmented"], row["original"])
        rows.append((f"{row['family']}: {row['rule']}", *("" if math.isnan(v) else f"{v:.2f}" for v in values)))
    return rows


def _draw(study: Study, path: Path) -> str | None:
    """Draw the picture; what to install if that is not possible."""
    from reproduction.theory.figure import draw

    try:
        draw(study.drawn, study.largest, path)
    except ImportError as error:
        return f"No picture: {error}"
    return None
