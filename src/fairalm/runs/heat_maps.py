"""Heat maps of what image models look at, and their scores."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._validation import check_parameter
from fairalm.exceptions import FairALMWarning, InputError
from fairalm.measures import Measure
from fairalm.measures.means import differences_of, means_of
from fairalm.runs.image_files import Images, find_images, read_with_masks
from fairalm.runs.metrics import metrics
from fairalm.runs.run import IMAGE_COLUMN, TEST_IMAGES
from fairalm.vision.heat_map_scores import AREA, SHARES, check_area, focus, leak

if TYPE_CHECKING:
    from fairalm.vision.image_model import ImageModel

FAIR, PLAIN, AGAINST = "fair", "unconstrained", "against"
DIFFERENCE, BOTH = "difference", "both"
LABELS = ("predicted", "positive")
Scores = dict[str, dict[str, Measure]]  # model, or what is compared -> name of a score -> its mean


@dataclass(frozen=True)
class Views:
    """Which models look at which images."""

    run: Path  # folder of a run on images
    images: Path | None = None  # folder of images, or a table of their paths; by default the run's test images
    plain: Path | None = None  # run of an unconstrained net; by default the one in `run`
    against: Path | None = None  # run of a net that predicts the protected attribute, for the leak
    masks: str | None = None  # folder with a mask per image, or "left" for the left half of every image; for the focus
    image_column: str | None = None  # of the table
    label: str = LABELS[0]  # map what speaks for the predicted label, or for the positive one in every image
    area: float = AREA  # share of an image that counts as looked at
    layer: str | None = None  # Grad-CAM at this layer of every net


@dataclass(frozen=True)
class HeatMaps:
    """The maps of each model, and their scores over the images."""

    views: Views
    protected: str | None  # the label of the net that predicts the protected attribute
    images: Images
    maps: Mapping[str, npt.NDArray[Any]]
    leak: Scores
    focus: Scores

    def metrics(self, command: str = "", **config: Any) -> dict[str, Any]:
        """The content of cam.json."""
        views, images = self.views, self.images
        runs = {AGAINST: views.against, PLAIN: views.plain, FAIR: views.run}
        chosen = {name: getattr(views, name) for name in ("masks", "label", "area", "layer")}
        return metrics(
            command=command,
            data={"name": views.images, "images": len(images.files), "unreadable": images.unreadable},
            config={"runs": runs, "protected": self.protected, **chosen, **config},
            splits={},
            leak=_to_dict(self.leak),
            focus=_to_dict(self.focus),
        )

    def draw(self, path: Path, *, rows: int, seed: int) -> None:
        """Write a PNG of some images, drawn at random, under the maps."""
        from fairalm.vision.heat_map_figure import draw_heat_maps

        images = self.images
        chosen = np.sort(np.random.default_rng(seed).permutation(len(images.files))[:rows])
        titles = {name: f"{self.protected}, predicted" if name == AGAINST else name for name in self.maps}
        draw_heat_maps(
            np.asarray(images.pixels[chosen]),
            {titles[name]: maps[chosen] for name, maps in self.maps.items()},
            path,
            area=self.views.area,
            rows=[images.files[row].stem[-16:] for row in chosen],
            masks=None if images.masks is None else images.masks[chosen],
        )


def heat_maps(views: Views, *, progress: bool = False) -> HeatMaps:
    """Compute the heat maps and their scores."""
    check_parameter("label", views.label, LABELS)
    check_area(views.area)
    views = _with_defaults(views)
    assert views.images is not None
    files = find_images(views.images, views.image_column)
    models = _load({AGAINST: views.against, PLAIN: views.plain, FAIR: views.run})  # in the order of the paper's figures
    settings = models[FAIR].settings
    images = read_with_masks(files, views.masks, settings["size"], settings["channels"], progress)
    maps = _maps(models, images.pixels, views, progress)
    protected = models[AGAINST].settings["target"] if AGAINST in models else None
    leaks, focuses = {}, {}
    for name in [name for name in maps if name != AGAINST]:
        if AGAINST in maps:
            leaks[name] = leak(maps[name], maps[AGAINST], area=views.area)
        if images.masks is not None:
            rows = images.masks.any(axis=(1, 2))
            focuses[name] = focus(maps[name][rows], images.masks[rows])
    return HeatMaps(views, protected, images, maps, _scores(leaks), _scores(focuses))


def _with_defaults(views: Views) -> Views:
    """The plain net and the test images of the run, where none are named."""
    run = views.run
    if views.plain is None and (run / "plain").is_dir():
        views = replace(views, plain=run / "plain")
    if views.images is not None:
        return views
    if not (run / TEST_IMAGES).is_file():
        raise InputError(f"{run} has no list of test images ({TEST_IMAGES}): name a folder of images after it.")
    return replace(views, images=run / TEST_IMAGES, image_column=IMAGE_COLUMN)


def _maps(
    models: Mapping[str, ImageModel], pixels: npt.NDArray[np.uint8], views: Views, progress: bool
) -> dict[str, npt.NDArray[Any]]:
    from fairalm.vision.cam import maps

    made = {}
    with warnings.catch_warnings():
        warnings.simplefilter("default", FairALMWarning)  # once for all nets
        for name, model in models.items():
            # which group counts as positive is arbitrary, so the map of the protected attribute is of the predicted one
            target: Literal[1] | None = 1 if views.label == "positive" and name != AGAINST else None
            made[name] = maps(model.net, model.batches(pixels), target=target, layer=views.layer, progress=progress)
    return made


def _load(runs: Mapping[str, Path | None]) -> dict[str, ImageModel]:
    """The nets, all for one size of images."""
    from fairalm.vision.image_model import load_image_model

    models = {name: load_image_model(folder) for name, folder in runs.items() if folder is not None}
    first = models[FAIR].settings
    for name, model in models.items():
        for what in ("size", "channels"):
            if model.settings[what] != first[what]:
                raise InputError(
                    f"The net of {runs[name]} takes images of {what} {model.settings[what]}, that of {runs[FAIR]} of"
                    f" {what} {first[what]}: train them alike."
                )
        if name != FAIR and (model.settings["target"] == first["target"]) != (name == PLAIN):
            raise InputError(
                f"The net of {runs[name]} predicts {model.settings['target']!r}, that of {runs[FAIR]}"
                f" {first['target']!r}: {{plain}} is for another net of the same label, {{against}} for one of the"
                " protected attribute.",
                plain=None,
                against=None,
            )
    return models


def _scores(tables: Mapping[str, pd.DataFrame]) -> Scores:
    """Means per net and, for two nets, their difference and how often both look outside."""
    scores = {name: means_of(table, note=_note(table["constant"]), shares=SHARES) for name, table in tables.items()}
    if len(tables) == 2:
        scores[DIFFERENCE] = differences_of(*(tables[name].drop(columns="constant") for name in (FAIR, PLAIN)))
        if "peak_outside" in tables[FAIR]:
            outside = ["peak_outside", "mostly_outside"]
            scores[BOTH] = means_of(tables[FAIR][outside] & tables[PLAIN][outside])
    return scores


def _note(constant: pd.Series[bool]) -> str:
    many = f"{constant.sum()} of {len(constant)} images have a constant map, which counts as chance"
    return many if constant.any() else ""


def _to_dict(scores: Scores) -> dict[str, Any]:
    return {row: {name: measure.to_dict() for name, measure in columns.items()} for row, columns in scores.items()}
