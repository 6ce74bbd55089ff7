"""``fairalm report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairalm.cli import _options as opt
from fairalm.cli._output import print_json, reserved_file, reserved_files, working
from fairalm.console import say, say_path
from fairalm.files import new_files
from fairalm.report.answers import verdict_lines
from fairalm.report.facts import MIN_CELL, gather
from fairalm.report.figures import figure_names, write_figures
from fairalm.report.page import write_page
from fairalm.report.shell import vl_convert

PAGE = Path("report.html")
MinCell = Annotated[int, typer.Option(metavar="N", min=1, help="Smallest count that is shown.")]


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of fairalm train, .json files of compare or demo."),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The .html file to write.")] = PAGE,
    min_cell: MinCell = MIN_CELL,
    maps: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of fairalm cam. Its images may show people."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the charts as .pdf and .png, for papers.")
    ] = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Write one page about one or more runs, to read, to mail and to print.

    What you get: an .html file that needs no network: the question in words, what changed from the plain model to the
    fair one and what is known of it, the warnings of the training, each group before and after, the curve of a
    frontier with who gains and who loses, all models, heat maps if a RUN has them, and what was done. RUNs must have
    the same constraint, label and groups. No row of the data is in it, and no count under --min-cell.

    For example:
      fairalm report runs/adult
      fairalm report runs/a runs/b -o both.html --figures figures
      fairalm compare german -o compared.json
      fairalm report compared.json --min-cell 20 -o compared-20.html
    """
    vl_convert()
    with reserved_file(out, (".html",), overwrite), working("writing the page"):
        facts = gather(runs, min_cell=min_cell, maps=maps)
        charts = [] if figures is None else [figures / name for name in figure_names(facts)]
        with reserved_files(charts, overwrite), new_files(out, *charts) as (page, *parts):
            size = write_page(page, facts)
            if charts:
                write_figures(dict(zip(figure_names(facts), parts, strict=True)), facts)
    if as_json:
        print_json({"out": out, "bytes": size, "verdict": facts["verdict"], "figures": charts})
        return
    for line in verdict_lines(facts):
        say(line)
    say_path(f"Page: {out}")
    if figures is not None:
        say_path(f"Figures: {', '.join(map(str, charts)) or 'none, because every count is hidden'}")
