"""Seconds and memory of ``fairalm audit`` for a folder of .parquet files, by the number of rows.

The folder has 20 files with an outcome, a decision, two protected columns as text, a weight, a score, and a column that
an audit does not need. Times are of :func:`fairalm.runs.audit` as a multiple of reading all of these columns but the
score with pyarrow and throwing them away, in fresh processes that take turns; the median of the rounds is shown. An
audit with scores reads its files twice. Memory is the peak of the whole process of the command, imports included.

python benchmarks/audit_scale.py --write
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from common import start, write_between

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "big-data.md"
N_FILES = 20
RACES = ("White", "Black", "Asian", "Hispanic", "Other")
COLUMNS = ["repaid", "granted", "sex", "race", "weight"]
READ = f"""
import sys, time, pyarrow.dataset
begin = time.perf_counter()
for batch in pyarrow.dataset.dataset(sys.argv[1]).to_batches(columns={COLUMNS}):
    del batch
print(time.perf_counter() - begin)
"""
AUDIT = """
import sys, time
from fairalm.runs import Decisions, audit
begin = time.perf_counter()
columns = {name: name for name in sys.argv[2:]}
audit(Decisions(sys.argv[1], ["sex", "race"], decision="granted", target="repaid", **columns))
print(time.perf_counter() - begin)
"""
COMMAND = ("--target", "repaid", "--decision", "granted", "--protected", "sex", "--protected", "race", "--no-files")
MORE = ((), ("weight",), ("score",), ("weight", "score"))  # columns of the four audits


def make_folder(folder, n_rows):
    """Write the files, one at a time."""
    for number in range(N_FILES):
        rng = np.random.default_rng(number)
        n = n_rows // N_FILES
        repaid = rng.random(n) < 0.7
        granted = np.where(rng.random(n) < 0.8, repaid, ~repaid)
        table = {
            "repaid": np.where(repaid, "yes", "no"),
            "granted": np.where(granted, "yes", "no"),
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(RACES, n, p=[0.6, 0.13, 0.06, 0.19, 0.02]),
            "weight": rng.lognormal(0, 0.5, n),
            "score": rng.normal(size=n) + repaid,
            "id": np.char.add("p", np.arange(n).astype(str)),
        }
        pa.parquet.write_table(pa.table(table), folder / f"part-{number:03}.parquet")


def seconds(code, *arguments):
    """What a fresh process prints, a number."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return float(done.stdout)


def peak_megabytes(*arguments):
    """Peak memory of a fresh process."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
        process = subprocess.Popen([sys.executable, "-m", "fairalm", "audit", *arguments], stdout=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"fairalm audit ended with {process.returncode}")
    return usage.ru_maxrss / 1024


def line(n_rows, rounds):
    with tempfile.TemporaryDirectory() as name:
        make_folder(Path(name), n_rows)
        size = sum(file.stat().st_size for file in Path(name).iterdir()) / 1e6
        times = [[seconds(READ, name), *(seconds(AUDIT, name, *more) for more in MORE)] for _ in range(rounds)]
        read, *audits = (statistics.median(column) for column in zip(*times, strict=True))
        peaks = [
            peak_megabytes(name, *COMMAND, *(text for column in more for text in (f"--{column}", column)))
            for more in MORE
        ]
    print(f"{n_rows:,} rows: read {read:.2f} s, audits {', '.join(f'{own:.2f}' for own in audits)} s", flush=True)
    ratios = " | ".join(f"{own / read:.1f}" for own in audits)
    return f"| {n_rows:,} | {size:,.0f} | {ratios} | {max(peaks[:2]):,.0f} | {max(peaks[2:]):,.0f} |"


def main():
    parser = start(__doc__, rounds=3, most=7)
    parser.add_argument("--write", action="store_true", help="write the table into docs/how-to/big-data.md")
    chosen = parser.parse_args()
    lines = [
        "| rows | files, MB | time, reading = 1 | with weights | with scores | both | peak memory, MB | with scores |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(line(10**power, chosen.rounds) for power in range(5, chosen.most + 1)),
    ]
    print("\n".join(lines))
    if chosen.write:
        write_between(PAGE, "audit-scale", "\n".join(lines))


if __name__ == "__main__":
    main()
