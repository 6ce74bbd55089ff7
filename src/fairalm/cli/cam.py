"""``fairalm cam``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairalm.cli import _options as opt
from fairalm.cli._output import count, print_json, reserved_files
from fairalm.console import is_terminal, print_table, say, say_path
from fairalm.files import new_files, write_json
from fairalm.measures import Measure
from fairalm.report.maps import RESULTS, SHEET
from fairalm.runs.heat_maps import BOTH, FAIR, LABELS, HeatMaps, Views, heat_maps
from fairalm.runs.image_files import LEFT

TITLES = {  # in the order of the tables; focus has an overlap too, with the mask
    "inside": "mass inside",
    "overlap": "highest shared",
    "chance": "by chance",
    "excess": "above chance",
    "peak_outside": "peak outside",
}


OPTIONS = {
    "run": Annotated[Path, typer.Argument(metavar="RUN", help="Folder of an image model that fairalm train wrote.")],
    "images": Annotated[
        Path | None,
        typer.Argument(
            metavar="[IMAGES]",
            help="Folder of images, or a .csv file with their paths. Default: the run's own test images.",
            show_default=False,
        ),
    ],
    "plain": Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="The unconstrained net, to compare with.", show_default="the one in RUN"),
    ],
    "against": Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A net that predicts the protected attribute, for the leak."),
    ],
    "masks": opt.text(
        f"DIR|{LEFT}",
        "For the focus: a folder with a mask per image, of the same name and size and black outside; or the viewer's"
        " left half of every image.",
    ),
    "image_column": opt.text("COL", "Column of a .csv file with the file paths."),
    "label": opt.text(
        "|".join(LABELS), "Map what speaks for the label that the net predicts, or for the positive one in every image."
    ),
    "area": opt.number(float, "Share of an image that counts as looked at."),
    "layer": opt.text("NAME", "Grad-CAM at this layer of every net, for finer maps: layer2 of resnet18."),
}


@opt.takes(views=(Views, OPTIONS))
def cam(
    context: typer.Context,
    views: Views,
    *,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")],
    rows: Annotated[int, typer.Option(metavar="N", min=1, max=60, help="Images in the figure, drawn at random.")] = 8,
    seed: opt.Seed = 0,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Show where nets look, and measure it.

    A heat map says how much each place of an image adds to a net's output. Give images that the nets were not trained
    on; by default these are the ones that fairalm train set aside.

    What you get: sheet.png, images under the highest places of each net's map; cam.json, all figures; and a table
    with 95 % intervals over the images. They hold for these nets: train several to see how much another run differs.

    What is measured:
      leak    with --against: how much of a net's highest places it shares with
              the net that predicts the protected attribute; by chance: the same
              between different images
      focus   with --masks: how much of a map is inside the mask; by chance: the
              mask's share of the image

    For example:
      fairalm cam runs/fair -o maps
      fairalm cam runs/fair photos -o maps --against runs/gender
      fairalm cam runs/tb xrays --masks lungs -o maps
    """
    files = [out / SHEET, out / RESULTS]
    with reserved_files(files, overwrite), new_files(*files) as (sheet, results):
        done = heat_maps(views, progress=is_terminal())
        done.draw(sheet, rows=rows, seed=seed)
        result = done.metrics(opt.typed(context), seed=seed)
        write_json(results, result)
    if as_json:
        print_json({"out": out, **result})
        return
    _show(done)
    say_path(f"Written to {out}: {SHEET}, {RESULTS}")


def _show(done: HeatMaps) -> None:
    unreadable = done.images.unreadable
    say(f"{len(done.images.files):,} images.")
    if unreadable:
        say(f"{count(len(unreadable), 'file')} could not be used; the first: {unreadable[0]}.")
    for title, table in ((f"leak of {done.protected}, %", done.leak), ("focus, %", done.focus)):
        if not table:
            continue
        say()
        nets = [name for name in table if name != BOTH]
        print_table(
            [title, *nets],
            [
                (words, *(_figure(table[net][name]) for net in nets))
                for name, words in TITLES.items()
                if name in table[FAIR]
            ],
        )
        if BOTH in table:
            say(f"Both nets have their peak outside in {table[BOTH]['peak_outside']} of the images.", indent=2)
        for note in dict.fromkeys(score.note for row in table.values() for score in row.values() if score.note):
            say(f"Note: {note}.")
    say()


def _figure(score: Measure) -> str:
    return str(score).replace(" %", "") if score.low is not None else "-"
