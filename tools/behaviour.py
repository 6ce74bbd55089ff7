"""Record what fairalm computes, and compare two records: the proof that a refactoring changed nothing.

    python tools/behaviour.py record before            # on the old code
    python tools/behaviour.py record after             # on the new code
    python tools/behaviour.py compare before after

A record is a folder of JSON files: the metrics of ``fairalm train`` for three tables, every estimator and every method;
five steps of every PyTorch method under every constraint; and the tables of every experiment in its quick form.
``record`` skips what the folder already has, so an interrupted record goes on where it stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

TABLES = ("adult", "compas", "german")
ESTIMATORS = ("logistic", "linear-svm", "tree", "forest", "boosting", "naive-bayes")
FITS = [
    "secant",
    "fairalm-linear",
    "fairalm",
    "augmented",
    "lagrangian",
    "proxy-lagrangian",
    "l2",
    "reweight",
    "unconstrained",
]
STEPS = ("pi-control", *FITS[1:])
CONSTRAINTS = (
    "equal-opportunity",
    "predictive-equality",
    "equalized-odds",
    "error-parity",
    "demographic-parity",
    "predictive-parity",
)
EXPERIMENTS = {
    "tabular": "--seeds 1 --tables compas,german",
    "labels": "--quick",
    "celeba": "--quick",
    "verbs": "--quick",
    "xray": "--quick",
    "looks": "--quick",
    "theory": "--rounds 1000 --models 20 --games 5",
}
IGNORED = {"seconds", "command", "versions", "created", "run", "out", "python", "platform", "date", "written"}
NUMBER = re.compile(r"\d+(?:\.\d+)?")
PATHS = ("Written to ", "Page: ")  # lines with temporary folders and times
Job = tuple[str, Callable[..., Any], tuple[Any, ...]]


def train_jobs() -> Iterator[Job]:
    """Every command line of ``fairalm train`` that is recorded; five rounds where a fit is long."""
    for data in TABLES:
        for estimator in ESTIMATORS:
            rounds = [] if estimator == "logistic" and data != "adult" else ["--max-iter", "5"]
            for method in FITS:
                options = ["--estimator", estimator, "--method", method, *rounds]
                yield f"train-{data}-{estimator}-{method}", train, (data, *options)
        for constraint in CONSTRAINTS:
            yield f"train-{data}-{constraint}", train, (data, "--constraint", constraint, "--max-iter", "8")
        for signal in ("heldout", "crossfit"):
            yield f"train-{data}-{signal}", train, (data, "--dual-signal", signal, "--max-iter", "8")
        for predictor in ("last", "average", "mixture"):
            yield f"train-{data}-{predictor}", train, (data, "--predictor", predictor, "--max-iter", "8")
        for method in STEPS:
            yield f"net-{data}-{method}", train, (data, "--estimator", "mlp", "--method", method, "--epochs", "2")
    yield "net-compas-heldout", train, ("compas", "--estimator", "mlp", "--dual-signal", "heldout", "--epochs", "3")


def train(*arguments: str) -> Any:
    """metrics.json of one command line."""
    from fairalm.cli import main

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        sys.argv = ["fairalm", "train", *arguments, "-o", f"{folder}/run", "--json"]
        with contextlib.suppress(SystemExit):
            main()
        return json.loads(Path(folder, "run", "metrics.json").read_text())


def torch_jobs() -> Iterator[Job]:
    """Every method × constraint × number of groups × window."""
    for method in STEPS:
        for constraint in CONSTRAINTS:
            for n_groups in (2, 3):
                for window in (None, 0, 5):
                    name = f"torch-{method}-{constraint}-{n_groups}-{window}"
                    yield name, torch_steps, (method, constraint, n_groups, window)


def torch_steps(method: str, constraint: str, n_groups: int, window: int | None) -> Any:
    """Loss, gradient and multipliers of five steps, from the batch and from what was observed."""
    import torch
    from torch import nn

    from fairalm.constraints import CONSTRAINTS
    from fairalm.methods import METHODS
    from fairalm.nn import ConstrainedLoss

    result = {}
    for dual_from in ("forward", "observe"):
        random = torch.Generator().manual_seed(0)
        net = nn.Linear(4, 1)
        with torch.no_grad():
            net.weight.copy_(torch.randn(1, 4, generator=random))
            net.bias.zero_()
        criterion = ConstrainedLoss(
            nn.BCEWithLogitsLoss(reduction="none"),
            CONSTRAINTS[constraint](),
            METHODS[method](),
            n_groups=n_groups,
            window=window,
            dual_from=dual_from,
        )
        optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
        steps = []
        for _ in range(5):
            group = torch.randint(n_groups, (64,), generator=random)
            x = torch.randn(64, 4, generator=random) + 0.5 * group[:, None]
            y = (torch.rand(64, generator=random) < torch.sigmoid(x.sum(1) - 1)).float()
            optimizer.zero_grad()
            loss = criterion(net(x)[:, 0], y, group)
            loss.backward()
            optimizer.step()
            if dual_from == "observe":
                criterion.observe(net(x)[:, 0], y, group)
            criterion.step()
            gradient = net.weight.grad.flatten().tolist()
            steps.append([loss.item(), gradient, criterion.multiplier.flatten().tolist()])
        result[dual_from] = steps
    return result


def experiment(name: str) -> Any:
    """Every .csv and every .json that an experiment writes beside its jobs."""
    options = EXPERIMENTS[name].split()
    if Path("reproduction").is_dir():
        command = [sys.executable, "-m", "reproduction", name]
    else:
        old = "celeba-labels" if name == "labels" else name
        command = [sys.executable, "-m", "fairalm", "reproduce", old]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, *options, "-o", f"{folder}/out"], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
        tables = sorted(Path(folder, "out").glob("*.csv"))
        return {path.name: path.read_text().splitlines() for path in tables} | {"printed": done.stdout.splitlines()}


def write(folder: Path, job: Job) -> None:
    """Run one job and keep what it gives."""
    name, run, arguments = job
    path = folder / f"{name}.json"
    if not path.exists():
        path.write_text(json.dumps(run(*arguments), indent=1))


def record(folder: Path, only: str) -> None:
    """Run every job whose name starts with `only`; the experiments one after another, on all cores."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [job for job in [*train_jobs(), *torch_jobs()] if job[0].startswith(only)]
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(2) as pool:
        for (name, _, _), done in zip(jobs, [pool.submit(write, folder, job) for job in jobs], strict=True):
            if (error := done.exception()) is not None:
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    for name in EXPERIMENTS:
        if f"experiment-{name}".startswith(only):
            write(folder, (f"experiment-{name}", experiment, (name,)))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and text with its place, without times and versions."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in IGNORED:
                yield from leaves(part, f"{path}/{key}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, f"{path}/{place}")
    else:
        yield path, value


def same(before: Any, after: Any, close: float) -> bool:
    """Equal, two numbers that are close, or two texts with the same numbers: words may change, figures may not."""
    if isinstance(before, (int, float)) and isinstance(after, (int, float)):
        return before == after or math.isclose(before, after, rel_tol=close, abs_tol=close) or before != before
    if isinstance(before, str) and isinstance(after, str):
        is_path = before.startswith(PATHS) and after.startswith(PATHS)
        return is_path or NUMBER.findall(before) == NUMBER.findall(after)
    return bool(before == after)


def compare(before: Path, after: Path) -> int:
    """Print what differs; the number of jobs that do."""
    differ = 0
    names = sorted({path.name for folder in (before, after) for path in folder.glob("*.json")})
    for name in names:
        if not (before / name).exists() or not (after / name).exists():
            print(f"{name}: only {'after' if (after / name).exists() else 'before'}")
            differ += 1
            continue
        old, new = (dict(leaves(json.loads((folder / name).read_text()))) for folder in (before, after))
        close = 1e-5 if name.startswith(("net", "torch")) else 1e-9
        wrong = [key for key in old if key in new and not same(old[key], new[key], close)]
        lost, more = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
        if wrong or lost or more:
            differ += 1
            shown = [f"{key}: {old[key]!r} -> {new[key]!r}" for key in wrong[:5]]
            shown += [f"{key} is gone" for key in lost[:5]] + [f"{key} is new" for key in more[:5]]
            print(f"{name}: {len(wrong)} values differ, {len(lost)} gone, {len(more)} new", *shown, sep="\n    ")
    print(f"{len(names) - differ} of {len(names)} jobs are equal.")
    return differ


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="Jobs whose name starts with this.")
    chosen = parser.parse_args()
    if chosen.action == "record":
        record(chosen.folders[0], chosen.only)
        return 0
    return int(compare(*chosen.folders) > 0)


if __name__ == "__main__":
    sys.exit(main())
