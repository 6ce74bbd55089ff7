"""``fairalm cam``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import typer

from fairalm.cli import _options as opt
from fairalm.cli import _words
from fairalm.cli._models import check_choice
from fairalm.cli._output import console, print_json, print_table, say, say_path
from fairalm.cli._photos import IMAGE, LEFT, TEST, find_photos, read_photos
from fairalm.exceptions import FairALMWarning, InputError
from fairalm.io import metrics, write_json
from fairalm.measures import Measure
from fairalm.report.maps import RESULTS, SHEET
from fairalm.vision.leak import AREA, average, check_area, difference, focus, leak

if TYPE_CHECKING:
    from fairalm.vision.train import PictureModel

FAIR, PLAIN, AGAINST = "fair", "unconstrained", "against"
DIFFERENCE, BOTH = "difference", "both"
WORDS = {  # in the order of the tables; focus has an overlap too, with the mask
    "inside": "mass inside",
    "overlap": "highest shared",
    "chance": "by chance",
    "excess": "above chance",
    "peak_outside": "peak outside",
}
LABELS = ("predicted", "positive")
Numbers = dict[str, dict[str, Measure]]  # net, or what is compared -> name -> number


def cam(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a net that fairalm train wrote.")],
    images: Annotated[
        Path | None,
        typer.Argument(
            metavar="[IMAGES]",
            help="Folder of pictures, or a .csv file that names them; else the run's own test pictures.",
            show_default=False,
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")],
    plain: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="The unconstrained net, to compare with.", show_default="the one that RUN keeps"
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A net that predicts the protected attribute, for the leak."),
    ] = None,
    masks: Annotated[
        str | None,
        typer.Option(
            metavar=f"DIR|{LEFT}",
            help="For the focus: a folder with a mask per picture, of the picture's name and size and black outside;"
            " or the viewer's left half of every picture.",
        ),
    ] = None,
    image_column: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of a .csv file with the pictures' paths.")
    ] = None,
    label: Annotated[
        str,
        typer.Option(
            metavar="|".join(LABELS),
            help="Map what speaks for the label that the net predicts, or for the positive one in every picture.",
        ),
    ] = LABELS[0],
    area: Annotated[float, typer.Option(metavar="X", help="Share of a picture that counts as looked at.")] = AREA,
    layer: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Grad-CAM at this layer of every net, for finer maps: layer2 of resnet18."),
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", min=1, max=60, help="Pictures on the sheet, drawn at random.")] = 8,
    seed: opt.Seed = 0,
    as_json: opt.Json = False,
) -> None:
    """Show where nets look, and measure it.

    A heat map says how much each place of a picture adds to what a net says of it. Give pictures that the nets were not
    trained on; those that fairalm train set aside are taken if none are named.

    What comes out: sheet.png, pictures under the highest places of each net's map; cam.json, all figures; and a table
    with 95 % intervals over the pictures. They hold for these nets: train several to see what another run would change.

    What is measured:
      leak    with --against: how much of a net's highest places it shares with
              the net that predicts the protected attribute; by chance: the same
              between different pictures
      focus   with --masks: how much of a map is inside the mask; by chance: the
              mask's share of the picture

    For example:
      fairalm cam runs/fair -o maps
      fairalm cam runs/fair photos -o maps --against runs/gender
      fairalm cam runs/tb xrays --masks lungs -o maps
    """
    check_choice("choice of --label", label, LABELS)
    check_area(area)
    if images is None:
        images, image_column = _own_pictures(run), IMAGE
    plain = run / "plain" if plain is None and (run / "plain").is_dir() else plain
    files = find_photos(images, image_column)
    models = _load({AGAINST: against, PLAIN: plain, FAIR: run})  # the order of the paper's pictures
    out.mkdir(parents=True, exist_ok=True)  # before the work, in case it cannot be
    settings, is_watched = models[FAIR].settings, console(stderr=True).is_terminal
    photos = read_photos(files, masks, size=settings["size"], channels=settings["channels"], progress=is_watched)

    from fairalm.vision.cam import maps
    from fairalm.vision.sheet import draw_sheet

    target: Literal[1] | None = 1 if label == "positive" else None
    with warnings.catch_warnings():
        warnings.simplefilter("default", FairALMWarning)  # once for all nets
        found = {
            # either group may be called positive, so the map of the protected attribute is of the one the net sees
            name: maps(
                model.net,
                model.batches(photos.pixels),
                target=None if name == AGAINST else target,
                layer=layer,
                progress=is_watched,
            )
            for name, model in models.items()
        }
    protected = models[AGAINST].settings["target"] if against else None
    chosen = np.sort(np.random.default_rng(seed).permutation(len(photos.files))[:rows])
    draw_sheet(
        np.asarray(photos.pixels[chosen]),
        {f"{protected}, predicted" if name == AGAINST else name: map_[chosen] for name, map_ in found.items()},
        out / SHEET,
        area=area,
        rows=[photos.files[row].stem[-16:] for row in chosen],
        masks=None if photos.masks is None else photos.masks[chosen],
    )
    numbers = _measure(found, photos.masks, area)
    result = metrics(
        command=_words.typed(context),
        data={"name": images, "images": len(photos.files), "unreadable": photos.unreadable},
        config={
            "runs": {AGAINST: against, PLAIN: plain, FAIR: run},
            "protected": protected,
            "masks": masks,
            "label": label,
            "area": area,
            "layer": layer,
            "seed": seed,
        },
        splits={},
        **{kind: _to_dict(table) for kind, table in numbers.items()},
    )
    write_json(out / RESULTS, result)
    if as_json:
        print_json({"out": out, **result})
        return
    _show(numbers, protected, result["data"])
    say_path(f"Written to {out}: {SHEET}, {RESULTS}")


def _own_pictures(run: Path) -> Path:
    if not (run / TEST).is_file():
        raise InputError(f"{run} has no list of test pictures ({TEST}): name a folder of pictures after it.")
    return run / TEST


def _load(runs: Mapping[str, Path | None]) -> dict[str, PictureModel]:
    """The nets that are asked for, all of one size of picture."""
    from fairalm.vision.train import load_run

    models = {name: load_run(folder)[0] for name, folder in runs.items() if folder is not None}
    first = models[FAIR].settings
    for name, model in models.items():
        for what in ("size", "channels"):
            if model.settings[what] != first[what]:
                raise InputError(
                    f"The net of {runs[name]} takes pictures of {what} {model.settings[what]}, that of {runs[FAIR]} of"
                    f" {what} {first[what]}: train them alike."
                )
    for name, is_same in ((PLAIN, True), (AGAINST, False)):
        if name in models and (models[name].settings["target"] == first["target"]) != is_same:
            raise InputError(
                f"The net of {runs[name]} predicts {models[name].settings['target']!r}, that of {runs[FAIR]}"
                f" {first['target']!r}: --plain is for another net of the same label, --against for one of the"
                " protected attribute."
            )
    return models


def _measure(
    found: Mapping[str, npt.NDArray[Any]], masks: npt.NDArray[np.bool_] | None, area: float
) -> dict[str, Numbers]:
    """Leak, if there is a map of the protected attribute, and focus on the pictures that have a mask."""
    judged = {name: map_ for name, map_ in found.items() if name != AGAINST}
    leaks, focuses = {}, {}
    if AGAINST in found:
        leaks = {name: leak(map_, found[AGAINST], area=area) for name, map_ in judged.items()}
    if masks is not None:
        rows = masks.any(axis=(1, 2))
        focuses = {name: focus(map_[rows], masks[rows]) for name, map_ in judged.items()}
    return {"leak": _numbers(leaks), "focus": _numbers(focuses)}


def _numbers(scores: Mapping[str, pd.DataFrame]) -> Numbers:
    """Averages per net and, of two nets, their difference and how often both look outside."""
    numbers = {name: average(table) for name, table in scores.items()}
    if len(scores) == 2:
        numbers[DIFFERENCE] = difference(scores[FAIR], scores[PLAIN])
        if "peak_outside" in scores[FAIR]:
            outside = ["peak_outside", "mostly_outside"]
            numbers[BOTH] = average(scores[FAIR][outside] & scores[PLAIN][outside])
    return numbers


def _to_dict(numbers: Numbers) -> dict[str, Any]:
    return {row: {name: measure.to_dict() for name, measure in found.items()} for row, found in numbers.items()}


def _show(numbers: Mapping[str, Numbers], protected: str | None, data: Mapping[str, Any]) -> None:
    say(f"{data['images']:,} pictures.")
    if data["unreadable"]:
        n_files = _words.count(len(data["unreadable"]), "file")
        say(f"{n_files} could not be used; the first: {data['unreadable'][0]}.")
    titles = {"leak": f"leak of {protected}, %", "focus": "focus, %"}
    for kind, table in numbers.items():
        if table:
            say()
            nets = [name for name in table if name != BOTH]
            names = [name for name in WORDS if name in table[FAIR]]
            print_table(
                [titles[kind], *nets],
                [(WORDS[name], *(_figure(table[net][name]) for net in nets)) for name in names],
            )
            if BOTH in table:
                say(f"Both nets have their peak outside in {table[BOTH]['peak_outside']} of the pictures.", indent=2)
            for note in dict.fromkeys(m.note for row in table.values() for m in row.values() if m.note):
                say(f"Note: {note}.")
    say()


def _figure(measure: Measure) -> str:
    return str(measure).replace(" %", "") if measure.low is not None else "-"
