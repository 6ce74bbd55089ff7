"""Install fairalm in fresh environments, without extras and with each one alone, and run the tests that belong to it.

    python -m tools.environments                          # all of them, in about half an hour
    python -m tools.environments --only none,lightgbm
    python -m tools.environments --python python3.13 --only none --newest
    python -m tools.environments --write CONTRIBUTING.md  # put the recorded results into the page

Each environment is made from scratch in a temporary folder and holds the extra and what the tests themselves need, and
nothing else, so that a test shows what a user with just this extra gets. Results are kept in ``build/environments/``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import write_between

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "build" / "environments"
TOOLS = ["pytest", "hypothesis", "jsonschema", "polars"]  # what the tests themselves need
CORE = [
    "tests/test_game.py",
    "tests/test_models_io.py",
    "tests/measures",
    "tests/methods",
    "tests/sklearn",
    "tests/cli",
]
#: extra -> its tests; those that need another extra are skipped
TESTS = {
    "none": [*CORE, "tests/frontier", "tests/datasets", "tests/runs", "tests/test_imports.py"],
    "parquet": ["tests/datasets", "tests/cli/test_big_tables.py", "tests/cli/test_audit.py"],
    "report": ["tests/report", "tests/cli/test_report.py", "tests/cli/test_commands.py"],
    "compare": ["tests/sklearn/comparators", "tests/cli/test_commands.py"],
    "hub": ["tests/report/test_card.py"],
    "mlflow": ["tests/cli/test_mlflow.py"],
    "lightgbm": ["tests/boost"],
    "xgboost": ["tests/boost"],
    "dask": ["tests/reproduction/test_runner.py"],
    "torch": [
        "tests/nn/test_loss.py",
        "tests/nn/test_trainer.py",
        "tests/nn/test_tabular.py",
        "tests/nn/test_last_layer.py",
    ],
    "tensorboard": ["tests/nn/test_trainer.py"],
    "lightning": ["tests/nn/test_lightning.py"],
    "huggingface": ["tests/nn/test_huggingface.py"],
    "vision": ["tests/vision", "tests/datasets/images", "tests/cli/test_images.py", "tests/cli/test_cam.py"],
    "spark": ["tests/spark"],
}


def main() -> int:
    """Run what was asked for; the exit code is 1 if any test failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.environments", description=__doc__.split("\n")[0])
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(TESTS), metavar="A,B")
    parser.add_argument("--python", default=sys.executable, help="the interpreter; default: this one")
    parser.add_argument(
        "--newest", action="store_true", help="the newest versions there are, not those of constraints.txt"
    )
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="write the recorded results into a page; run nothing"
    )
    options = parser.parse_args()
    if options.write is not None:
        write_table(options.write)
        return 0
    RESULTS.mkdir(parents=True, exist_ok=True)
    failed = False
    for extra in options.only:
        row = try_extra(extra, options.python, newest=options.newest)
        name = f"{extra}-{row['python']}{'-newest' * options.newest}.json"
        (RESULTS / name).write_text(json.dumps(row, indent=1))
        print(_line(row), flush=True)
        failed |= row["result"] != "passed"
    return int(failed)


def try_extra(extra: str, python: str, *, newest: bool) -> dict[str, Any]:
    """Make the environment of an extra and run its tests in it."""
    with tempfile.TemporaryDirectory(prefix="fairalm-") as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        own = Path(folder) / "bin" / "python"
        wanted = ROOT.as_posix() + ("" if extra == "none" else f"[{extra}]")
        pins = _only_torch(Path(folder)) if newest else ROOT / "constraints.txt"
        install = [own, "-m", "pip", "--disable-pip-version-check", "install", "-q", "-c", pins, wanted]
        install += TOOLS
        subprocess.run(install, check=True, cwd=ROOT)
        versions = subprocess.run(
            [own, "-m", "pip", "list", "--format", "json"], check=True, capture_output=True, text=True
        )
        n_packages = len(json.loads(versions.stdout))
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file() and not file.is_symlink())
        command = [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS[extra]]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # as in `make test`: nets are compared to the last bit
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
        version = subprocess.run([own, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{extra}.log").write_text(done.stdout + done.stderr)
    counts = {
        word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout[-300:])
    }
    result = "passed" if done.returncode == 0 and counts.get("passed") else "failed"
    about = {"extra": extra, "python": version, "versions": "newest" if newest else "pinned"}
    return {**about, "packages": n_packages, "megabytes": round(size / 1e6), **counts, "result": result}


def _only_torch(folder: Path) -> Path:
    """A constraints file with the pin of torch alone: an unpinned one pulls gigabytes of another build."""
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch==")]
    path = folder / "torch.txt"
    path.write_text("\n".join(pins))
    return path


def _line(row: dict[str, Any]) -> str:
    cells = [row["extra"], row["python"], row["versions"], row["packages"], row["megabytes"]]
    return f"| {' | '.join(map(str, [*cells, row.get('passed', 0), row.get('skipped', 0), row['result']]))} |"


def write_table(page: Path) -> None:
    """Replace the table between the marks of a page by the recorded results."""
    rows = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    order = [*TESTS]
    rows.sort(key=lambda row: (order.index(row["extra"]), row["versions"], row["python"]))
    head = [
        "| extra | Python | versions | packages | MB | passed | skipped | result |",
        "|---|---|---|---:|---:|---:|---:|---|",
    ]
    write_between(page, "environments", "\n".join([*head, *map(_line, rows)]))


if __name__ == "__main__":
    sys.exit(main())
