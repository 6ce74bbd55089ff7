"""Altered files of the folders that commands write: the JSON of a run, its model, its checkpoints and caches."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tools.attack import mutate
from tools.attack.case import REFUSED, Case, Failed
from tools.attack.seeds import CHECKPOINT, FEATURE_CACHE, IMAGE_CACHE, features, net_run

TABLES = ("logistic", "forest", "mlp")
#: a file of a run -> the folders that have it, and the commands that read it there
READERS: dict[str, dict[tuple[str, ...], tuple[str, ...]]] = {
    "metrics.json": {
        (*TABLES, "frontier"): ("card", "card", "card", "report", "predict"),
        ("relu3",): ("card", "predict"),
    },
    "config.json": {TABLES: ("predict",), ("frontier",): ("predict", "point"), ("relu3",): ("predict_images",)},
    "lda.json": {("lda",): ("predict", "check", "report")},
    "audit.json": {("audit",): ("check", "report")},
    "manifest.json": {
        (*TABLES, "frontier", "lda", "audit"): ("check", "predict", "card"),
        ("relu3",): ("predict_images", "cam", "check"),
    },
    "settings.json": {("relu3",): ("predict_images", "predict_images", "cam")},
    "history.json": {("relu3",): ("predict_images", "cam")},
}
#: command -> the files of a run that it uses, and must refuse where they are altered
COVERED = {
    "card": ("metrics.json",),
    "report": ("metrics.json",),
    "predict": ("metrics.json", "lda.json", "config.json", "model.skops"),
    "point": ("metrics.json", "config.json", "model.skops"),
    "predict_images": ("metrics.json", "config.json", "settings.json", "history.json", "model.pt"),
    "cam": ("settings.json", "history.json", "model.pt"),
}


def reader(case: Case, name: str, run: Path) -> int:
    """Run a command that reads a run."""
    seeds = case.seeds
    arguments = {
        "card": ["card", str(run), "-o", "out.md"],
        "report": ["report", str(run), "-o", "out.html"],
        "predict": ["predict", str(run), str(seeds / "new.csv"), "-o", "out.csv"],
        "point": ["predict", str(run), str(seeds / "new.csv"), "-o", "out.csv", "--tol", "0.05"],
        "predict_images": ["predict", str(run), str(seeds / "faces.csv"), "-o", "out.csv"],
        "cam": ["cam", str(run), str(seeds / "faces"), "-o", "maps", "--masks", "left"],
        "check": ["check", str(run)],
    }[name]
    return case.command(*arguments)


def _altered_json(case: Case, file: str) -> None:
    """Alter a JSON file of a run, with and without the digest that the manifest has of it, and read the run."""
    rng = case.rng
    folders, commands = rng.choice(list(READERS[file].items()))
    run, command = case.copied(rng.choice(folders)), rng.choice(commands)
    in_plain = command == "cam" and file != "manifest.json" and rng.random() < 0.5
    place = run / "plain" / file if in_plain else run / file
    before = place.read_bytes()
    after = mutate.of_json(rng, before)
    is_covered = file != "manifest.json" and rng.random() < 0.15
    case.write(place, after, digest_of=None if is_covered or file == "manifest.json" else run)
    code = reader(case, command, run)
    if is_covered and after != before and code != REFUSED and (command == "check" or file in COVERED[command]):
        raise Failed("silent", f"{command} used {place.relative_to(case.folder)}, which the manifest shows is altered")


def metrics_json(case: Case) -> None:
    """metrics.json."""
    _altered_json(case, "metrics.json")


def compare_json(case: Case) -> None:
    """The .json of `fairalm compare`, through `fairalm report`; and cam.json, which `report --maps` reads."""
    if case.rng.random() < 0.7:
        file = case.copied("compare.json")
        file.write_bytes(mutate.of_json(case.rng, file.read_bytes()))
        case.command(case.rng.choice(("report", "card", "card")), file.name, "-o", "out.html")
    else:
        maps = case.copied("maps")
        (maps / "sheet.png").write_bytes(mutate.of_bytes(case.rng, (case.seeds / "maps/sheet.png").read_bytes()[:99]))
        (maps / "cam.json").write_bytes(mutate.of_json(case.rng, (maps / "cam.json").read_bytes()))
        case.command("report", str(case.seeds / "relu3"), "--maps", "maps", "-o", "out.html")


def config_json(case: Case) -> None:
    """config.json."""
    _altered_json(case, "config.json")


def lda_json(case: Case) -> None:
    """lda.json."""
    _altered_json(case, "lda.json")


def audit_json(case: Case) -> None:
    """audit.json."""
    _altered_json(case, "audit.json")


def manifest_json(case: Case) -> None:
    """manifest.json."""
    _altered_json(case, "manifest.json")


def settings_json(case: Case) -> None:
    """settings.json of an image model."""
    _altered_json(case, "settings.json")


def history_json(case: Case) -> None:
    """history.json of an image model."""
    _altered_json(case, "history.json")


def _zip(rng: Random, content: bytes, altered: str) -> bytes:
    """A zip file of which one member is altered; a JSON one as JSON."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            member = before.read(name)
            if name == altered:
                member = (mutate.of_json if name.endswith(".json") else mutate.of_bytes)(rng, member)
            after.writestr(name, member)
    return out.getvalue()


def _altered_model(case: Case, file: str, schema: bool) -> None:
    rng = case.rng
    run = case.copied(rng.choice(("logistic", "forest", "boosting", "mlp", "frontier")))
    content = (run / file).read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        names = ["schema.json"] if schema else packed.namelist()
    after = _zip(rng, content, rng.choice(names)) if schema or rng.random() < 0.7 else mutate.of_bytes(rng, content)
    is_covered = rng.random() < 0.1
    case.write(run / file, after, digest_of=None if is_covered else run)
    if not is_covered and rng.random() < 0.5:
        from fairalm import load

        case.call(load, run / file)
    elif reader(case, "predict", run) != REFUSED and is_covered and after != content:
        raise Failed("silent", "predict used a model that the manifest shows is altered")


def model_schema(case: Case) -> None:
    """schema.json within model.skops, through `fairalm.load` and `predict`."""
    _altered_model(case, "model.skops", schema=True)


def model_skops(case: Case) -> None:
    """Any other part of model.skops, or its bytes."""
    _altered_model(case, "model.skops", schema=False)


def _altered_tensors(rng: Random, content: bytes) -> bytes:
    """What torch.save wrote, with other values, shapes, types and keys; or with altered bytes."""
    import torch

    if rng.random() < 0.4:
        return mutate.of_bytes(rng, content)
    value = torch.load(io.BytesIO(content), weights_only=True)
    for _ in range(rng.choice((1, 1, 2))):
        parent = value
        while True:
            keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(parent[key], (dict, list)) and rng.random() < 0.8:
                parent = parent[key]
                continue
            _alter_entry(rng, parent, key)
            break
    out = io.BytesIO()
    torch.save(value if rng.random() < 0.95 else rng.choice(([], 1, {}, "x", torch.zeros(2))), out)
    return out.getvalue()


def _alter_entry(rng: Random, parent: Any, key: Any) -> None:
    import torch

    what = rng.randrange(5)
    if what == 0:
        del parent[key]
    elif what == 1 and isinstance(parent, dict):
        parent[rng.choice(("x", "", 0))] = parent.pop(key)
    elif what < 4 and isinstance(parent[key], torch.Tensor):
        tensor = parent[key]
        parent[key] = rng.choice(
            (tensor.double(), tensor.reshape(-1)[:1], tensor.to(torch.int8), tensor * float("nan"), tensor[..., None])
        )
    else:
        values = [value for value in mutate.VALUES if value != mutate.DEEP]
        parent[key] = rng.choice((*values, torch.zeros(0), torch.zeros(3, dtype=torch.complex64)))


def model_pt(case: Case) -> None:
    """model.pt of an image model."""
    from fairalm.vision.image_model import load_image_model

    rng, run = case.rng, case.copied("relu3")
    before = (run / "model.pt").read_bytes()
    after = _altered_tensors(rng, before)
    is_covered = rng.random() < 0.3
    case.write(run / "model.pt", after, digest_of=None if is_covered else run)
    pixels = np.zeros((2, 24, 24, 3), np.uint8)
    if rng.random() < 0.7:
        model = case.call(load_image_model, run)
        accepted = model is not None and case.call(model.predict, pixels) is not None
    else:
        accepted = reader(case, rng.choice(("predict_images", "predict_images", "cam")), run) != REFUSED
    if accepted and is_covered and after != before:
        raise Failed("silent", "a model.pt was used that the manifest shows is altered")


def checkpoint(case: Case) -> None:
    """The checkpoint of a table net, through training that goes on from it."""
    rng, folder = case.rng, case.copied(CHECKPOINT)
    case.copied("people.csv")
    file = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    content = file.read_bytes()
    if file.suffix == ".pt":
        case.write(file, _altered_tensors(rng, content), digest_of=_digest_folder(file))
    else:
        file.write_bytes((mutate.of_json if file.suffix == ".json" else mutate.of_bytes)(rng, content))
    case.call(net_run, folder, resume=True)


def _digest_folder(file: Path) -> Path | None:
    return file.parent if (file.parent / "manifest.json").is_file() else None


def image_cache(case: Case) -> None:
    """The cache of decoded images: whatever is done to it, the images are those of the files, or it is refused."""
    rng, cache = case.rng, case.copied(IMAGE_CACHE)
    file = rng.choice(sorted(path for path in cache.rglob("*") if path.is_file()))
    alter = mutate.of_json if file.suffix == ".json" and rng.random() < 0.7 else mutate.of_bytes
    file.write_bytes(alter(rng, file.read_bytes()))
    found, wanted = case.call(cached_images, case.seeds, cache), cached_images(case.seeds, case.seeds / IMAGE_CACHE)
    if found is not None and not np.array_equal(found, wanted):
        raise Failed("silent", f"images came out of the altered {file.name}")


def cached_images(seeds: Path, cache: Path) -> Any:
    """The intact images through a cache in a folder."""
    from fairalm.datasets.images import read_images

    usual = os.environ["FAIRALM_CACHE"]
    os.environ["FAIRALM_CACHE"] = str(cache)
    try:
        read = read_images(seeds / "faces.csv", image_column="image", target="over30", protected="gender", size=24)
        return np.array(read.pixels)
    finally:
        os.environ["FAIRALM_CACHE"] = usual


def feature_cache(case: Case) -> None:
    """The cache of features, likewise."""
    rng, cache = case.rng, case.copied(FEATURE_CACHE)
    file = rng.choice(sorted(path for path in cache.rglob("*") if path.is_file()))
    file.write_bytes(mutate.of_bytes(rng, file.read_bytes()))
    found, wanted = case.call(features, cache), features(case.seeds / FEATURE_CACHE)
    if found is not None and not np.array_equal(found, wanted):
        raise Failed("silent", f"features came out of the altered {file.suffix} file")
