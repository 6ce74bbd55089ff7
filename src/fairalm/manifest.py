"""The manifest of a folder: a digest of every file, so that damage is noticed before anything is used."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fairalm.exceptions import InputError
from fairalm.files import to_json, write_json
from fairalm.json_reader import read_json

MANIFEST, FORMAT = "manifest.json", 1


def write_manifest(
    folder: Path,
    *,
    data: str,
    settings: Any,
    seed: int | None = None,
    split: Any = None,
    names: Iterable[str] | None = None,
) -> None:
    """Write the manifest of all files in a folder, or of those with these names; call it last.

    It says what the files were made from: the fingerprint of the data, digests of the settings and of the split (the
    numbers of the rows in each part), and the versions of the libraries.
    """
    if names is None:
        own = (file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*")) if file.is_file())
        names = [name for name in own if name != MANIFEST]
    files = {name: digest_of_file(folder / name) for name in names}
    made_from = {"data": data, "split": split and digest_of(split), "seed": seed, "settings": digest_of(settings)}
    write_json(folder / MANIFEST, {"format": FORMAT, "versions": versions(), **made_from, "files": files})


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that a figure or a model may depend on."""
    packages = {name: version(name) for name in ("fairalm", "numpy", "pandas", "scikit-learn")}
    used = [name for name in ("torch", "lightgbm", "xgboost") if name in sys.modules]
    packages |= {name: str(sys.modules[name].__version__) for name in used}
    return {"python": platform.python_version(), **packages}


def digest_of(value: Any) -> str:
    """The sha256 of a value as JSON, whatever the order of its keys."""
    text = json.dumps(json.loads(to_json(value)), sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def check_manifest(folder: Path, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Refuse a folder of which a file is missing or is not as it was written; returns its manifest.

    With `names` only these files are looked at, as far as the manifest has them.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder} has no {MANIFEST}: it is incomplete, or no folder that this fairalm wrote.")
    manifest = read_json(path, "manifest", advice="it is damaged, or of another version of fairalm: train again")
    files = manifest["files"]
    for name in files if names is None else [name for name in names if name in files]:
        if not (folder / name).is_file():
            raise InputError(f"{folder / name} is missing: restore it from a copy, or train again.")
        if digest_of_file(folder / name) != files[name]:
            raise InputError(f"{folder / name} is not as fairalm wrote it: restore it from a copy, or train again.")
    return dict(manifest)


def digest_of_file(file: Path) -> str:
    """The sha256 of a file, read piece by piece."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while part := content.read(2**20):
            digest.update(part)
    return digest.hexdigest()
