"""Altered tables and images, through the functions that read them and through whole commands."""

from __future__ import annotations

import gzip
import shutil
import zlib
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tools.attack import mutate
from tools.attack.case import Case
from tools.attack.seeds import LABELS, LDA, TRAIN

SUFFIXES = (".csv", ".csv.gz", ".parquet")
ENCODINGS = ("utf-8", "latin-1", "utf-16", "cp500", "ascii", "base64", "idna", "none", "")


def _table(case: Case, suffix: str) -> Path:
    """An altered table in the case's folder."""
    rng, path = case.rng, case.folder / f"people{suffix}"
    content = (case.seeds / "people.csv").read_bytes()
    if suffix == ".parquet":
        path.write_bytes(_parquet(rng, case.seeds / "people.parquet"))
    elif suffix == ".csv":
        path.write_bytes(mutate.of_csv(rng, content))
    else:
        packed = gzip.compress(mutate.of_csv(rng, content) if rng.random() < 0.6 else content, 1)
        path.write_bytes(mutate.of_bytes(rng, packed) if rng.random() < 0.5 else packed)
    return path


def _parquet(rng: Random, seed: Path) -> bytes:
    """A parquet file with altered bytes, or a good one with columns of types that models cannot take."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if rng.random() < 0.5:
        return mutate.of_bytes(rng, seed.read_bytes())
    table = pq.read_table(seed)
    for _ in range(rng.choice((1, 1, 2))):
        name, n = rng.choice([*table.column_names, "self", "", "hired", "x"]), table.num_rows
        column: Any = rng.choice(_columns(rng, n))
        if name in table.column_names and rng.random() < 0.7:
            table = table.set_column(table.column_names.index(name), name, column)
        else:
            table = table.append_column(name, column)
    if rng.random() < 0.1:
        table = table.slice(0, rng.choice((0, 1, 2)))
    out = pa.BufferOutputStream()
    pq.write_table(table, out, compression=rng.choice(("snappy", "none", "zstd")))
    return bytes(out.getvalue())


def _columns(rng: Random, n: int) -> list[Any]:
    import pyarrow as pa

    number = rng.choice(mutate.NUMBERS)
    big = min(max(int(number), -(2**63)), 2**63 - 1) if number == number and abs(number) != float("inf") else 0
    return [
        pa.array([float(number) if abs(number) < 1e308 else float("inf")] * n),
        pa.array([big] * n, pa.int64()),
        pa.array([None] * n),
        pa.array([b"\xff\x00"] * n),
        pa.array([[1, 2]] * n),
        pa.array([{"a": 1}] * n),
        pa.array([1] * n, pa.date32()),
        pa.array([1] * n, pa.timestamp("ns", tz="UTC")),
        pa.array([1] * n, pa.duration("s")),
        pa.array([1] * n, pa.time32("s")),
        pa.array([1] * n).cast(pa.decimal128(30, 2)),
        pa.array([rng.choice(mutate.TEXTS).encode("utf-8", "replace").decode()] * n),
        pa.array(["a", None] * (n // 2) + ["b"] * (n % 2)).dictionary_encode(),
        pa.array([True, None] * (n // 2) + [False] * (n % 2)),
        pa.array(np.arange(n, dtype=np.float16)),
        pa.array([1, 2**63] * (n // 2) + [0] * (n % 2), pa.uint64()),
    ]


def _read(case: Case, suffix: str) -> None:
    from fairalm.datasets import read_table
    from fairalm.runs import Source

    path, rng = _table(case, suffix), case.rng
    how: dict[str, str] = {}
    if suffix != ".parquet" and rng.random() < 0.15:
        how = {rng.choice(("encoding", "sep", "decimal")): rng.choice((*ENCODINGS, ";", "tab", ",", "\n", '"', "ab"))}
    if rng.random() < 0.6:
        case.call(read_table, path, **how)
        return
    target, protected = rng.choice(("hired", "approved", "town", "skill")), rng.choice(("sex", "race", "town", "skill"))
    more: dict[str, Any] = {"weight": "weight"} if rng.random() < 0.3 else {}
    case.call(lambda: Source(str(path), target=target, protected=protected, **more, **how).read())


def csv(case: Case) -> None:
    """A .csv file, through `read_table` and `Source.read`."""
    _read(case, ".csv")


def csv_gz(case: Case) -> None:
    """A compressed .csv file."""
    _read(case, ".csv.gz")


def parquet(case: Case) -> None:
    """A .parquet file."""
    _read(case, ".parquet")


def audit_table(case: Case) -> None:
    """A table through `fairalm audit`."""
    path, rng = _table(case, case.rng.choice((".csv", ".csv", ".csv.gz", ".parquet"))), case.rng
    given = [
        rng.choice(("--decision", "--decision", "--score", "--target")),
        rng.choice(("hired", "approved", "skill")),
    ]
    if rng.random() < 0.3:
        given += ["--target", "hired"]
    if rng.random() < 0.2:
        given += ["--weight", "weight"]
    if rng.random() < 0.2:
        given += ["--protected", "race"]
    files = ["-o", "out"] if rng.random() < 0.1 else ["--no-files"]
    case.command("audit", path.name, *given, "--protected", rng.choice(("sex", "sex", "town", "skill")), *files)


def predict_table(case: Case) -> None:
    """A table through `fairalm predict`."""
    path, rng = _table(case, case.rng.choice((".csv", ".csv", ".csv.gz", ".parquet"))), case.rng
    run = rng.choice(("logistic", "forest", "boosting", "mlp", "frontier"))
    case.command("predict", str(case.seeds / run), path.name, "-o", rng.choice(("out.csv", "out.parquet", "out")))


def train_table(case: Case) -> None:
    """A table through the commands that fit: mostly `fairalm train`, which refuses most of them before it starts."""
    path, rng = _table(case, case.rng.choice((".csv", ".csv", ".csv.gz", ".parquet"))), case.rng
    command = rng.choice(("train",) * 16 + ("lda", "frontier", "compare", "mlp"))
    more = ["--weight", "weight"] if rng.random() < 0.2 and command == "train" else []
    if command == "train":
        case.command("train", path.name, *TRAIN[2:], *more, "-o", "out")
    elif command == "mlp":
        case.command("train", path.name, *LABELS, "--estimator", "mlp", "--epochs", "1", "-o", "out")
    elif command == "lda":
        case.command("lda", path.name, *LABELS, *LDA, "-o", "out")
    elif command == "frontier":
        case.command("frontier", path.name, *LABELS, "--folds", "2", "-o", "out")
    else:
        case.command(
            "compare", path.name, *LABELS, "--seeds", "1", "--methods", "secant", "--max-iter", "2", "-o", "c.csv"
        )


def image(case: Case) -> None:
    """An image file of any format."""
    from fairalm.datasets.images._decode import decode_all

    rng = case.rng
    path = rng.choice(sorted((case.seeds / "faces").iterdir()))
    altered = case.folder / path.name
    content = mutate.of_bytes(rng, path.read_bytes())
    if path.suffix == ".png" and rng.random() < 0.5:  # a size that is not so, with the right checksum
        head = b"IHDR" + b"".join(rng.choice((0, 1, 12, 2**31 - 1, 60_000)).to_bytes(4, "big") for _ in range(2))
        head += path.read_bytes()[24:29]
        content = path.read_bytes()[:12] + head + zlib.crc32(head).to_bytes(4, "big") + path.read_bytes()[33:]
    altered.write_bytes(content)
    kind: Any = rng.choice(("grey", "colour", "mask"))
    job = (str(altered), str(path)) if kind == "mask" else (str(altered),)
    case.call(decode_all, [job], 12, kind)


def image_table(case: Case) -> None:
    """A table of images."""
    from fairalm.datasets.images import read_images

    rng, table = case.rng, case.folder / "faces.csv"
    content = mutate.of_csv(rng, b"\n".join((case.seeds / "faces.csv").read_bytes().splitlines()[:16]))
    table.write_bytes(content.replace(b"faces/", f"{case.seeds}/faces/".encode()) if rng.random() < 0.9 else content)
    names: dict[str, Any] = {"image_column": "image", "target": "over30", "protected": "gender"}
    if rng.random() < 0.2:
        names[rng.choice(sorted(names))] = rng.choice(("weight", "image", "self", "", "over30"))
    shutil.rmtree(case.folder / "cache", ignore_errors=True)
    case.call(read_images, table, size=rng.choice((8, 12, 12, 12, 0, -1)), **names)
