"""imSitu: images of people's activities from the web."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.datasets._dataset import Dataset
from fairalm.datasets._files import DataDir, read_official
from fairalm.datasets.images._build import build
from fairalm.datasets.images._dataset import ImageDataset
from fairalm.datasets.images._folders import check_complete, find_folder
from fairalm.exceptions import InputError
from fairalm.json_reader import read_json

#: The paper's four; the first of each is its (+).
VERB_PAIRS = (("cooking", "driving"), ("shaving", "moisturizing"), ("washing", "saluting"), ("assembling", "hanging"))
LABELS, SPACE, IMAGES = "labels.csv", "imsitu_space.json", "of500_images_resized"
FILES = {"train": "train.json", "valid": "dev.json", "test": "test.json"}
SPLITS = {"train": "train", "val": "valid", "test": "test"}  # as labels.csv has them
GLOSSES = {"man": "adult male", "woman": "adult female"}  # of the two nouns' entries in imsitu_space.json
DESCRIPTION = (
    "The label is one of two verbs, what someone in the image does; the protected attribute is that person's gender"
    " as annotators saw it. imSitu (Yatskar et al. 2016)."
)


def load_imsitu(
    data_dir: DataDir = None, *, size: int = 64, pair: Sequence[str] = VERB_PAIRS[0], progress: bool = False
) -> ImageDataset:
    """Load imSitu's images of two verbs: label ``verb`` (positive: the first of `pair`), protected ``gender``.

    Verb, gender and part come from labels.csv if it is there, the list published with "Balanced Datasets Are Not
    Enough" (Wang et al. 2019); otherwise from the official train.json, dev.json, test.json and imsitu_space.json, which
    gives the images whose annotators named the noun "man" or the noun "woman" as the agent, and not both. The folder
    holds these files and of500_images_resized/; other parameters as in :func:`load_celeba`.

    Examples
    --------
    >>> data = load_imsitu("path/to/data", pair=("shaving", "moisturizing"))  # doctest: +SKIP
    """
    folder, frame = _annotations(data_dir, pair)
    check_complete(folder, (IMAGES,))
    name = f"imsitu-{pair[0]}-{pair[1]}"
    people = Dataset.from_frame(frame, target="verb", positive=pair[0], protected="gender", name=name)
    return build(people, folder / IMAGES, size=size, description=DESCRIPTION, progress=progress)


def imsitu_counts(data_dir: DataDir = None, *, pair: Sequence[str] = VERB_PAIRS[0]) -> dict[tuple[str, int, str], int]:
    """Count imSitu's images by part, verb (1 for the first of `pair`) and gender; the images are not needed.

    The keys are (part, label, gender); :func:`scenes` makes a set with these counts. Parameters as in
    :func:`load_imsitu`.

    Examples
    --------
    >>> counts = imsitu_counts("path/to/data", pair=("cooking", "driving"))  # doctest: +SKIP
    >>> counts["test", 1, "man"]  # doctest: +SKIP
    12
    """
    _, frame = _annotations(data_dir, pair)
    found = frame.groupby(["split", frame["verb"].eq(pair[0]).astype(int), "gender"]).size().to_dict()
    return {(part, label, gender): int(found.get((part, label, gender), 0))
            for part in FILES for label in (0, 1) for gender in GLOSSES}  # fmt: skip


def _annotations(data_dir: DataDir, pair: Sequence[str]) -> tuple[Path, pd.DataFrame]:
    """The folder, and file, verb, gender and part of each image of the two verbs."""
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise InputError(f"pair must be two different verbs; got {pair!r}.")
    folder = find_folder(data_dir, ("imsitu", "imSitu"), (LABELS, SPACE))
    labels = folder / LABELS
    frame = _from_labels(labels) if labels.exists() else _from_annotations(folder)
    absent = [verb for verb in pair if verb not in set(frame["verb"])]
    if absent:
        raise InputError(f"No image in {folder} shows a man or a woman {absent[0]}: check the spelling of `pair`.")
    return folder, frame[frame["verb"].isin(list(pair))].reset_index(drop=True)


def _from_labels(path: Path) -> pd.DataFrame:
    table = read_official(path, ("image", "verb", "gender", "split"), header=True)
    frame = table.rename(columns={"image": "file"}).assign(split=table["split"].map(SPLITS))
    if frame.isna().to_numpy().any() or not frame["gender"].isin(list(GLOSSES)).all():
        raise InputError(f"Each row of {path} must name image, verb, gender (man, woman) and split (train, val, test).")
    return frame


def _from_annotations(folder: Path) -> pd.DataFrame:
    check_complete(folder, (SPACE, *FILES.values()))
    try:
        nouns = _entries(folder / SPACE)["nouns"]
        genders = {noun: gender for noun, entry in nouns.items()
                   for gender, gloss in GLOSSES.items() if gloss in entry["gloss"]}  # fmt: skip
        rows = [(file, entry["verb"], _gender(entry["frames"], genders), part)
                for part, name in FILES.items() for file, entry in _entries(folder / name).items()]  # fmt: skip
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"The .json files in {folder} are not the official ones ({error!r}).") from error
    return pd.DataFrame(rows, columns=["file", "verb", "gender", "split"]).dropna(subset="gender")


def _entries(path: Path) -> dict[str, Any]:
    entries: dict[str, Any] = read_json(path, "imsitu", advice="download the official files again")
    return entries


def _gender(frames: Iterable[dict[str, Any]], genders: dict[str, str]) -> str | None:
    """The agent's gender, if the annotators who named one agree."""
    seen = {genders[frame["agent"]] for frame in frames if frame.get("agent") in genders}
    return seen.pop() if len(seen) == 1 else None
