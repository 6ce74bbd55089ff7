"""One fit of one contender in a process of its own: time, peak memory, error and gap; and the file of results."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import floor, spread
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import ExponentiatedGradient, GridSearch, TruePositiveRateParity
from frontier_contenders import GRID_SIZE, best_of_grid
from frontier_data import Problem

import fairalm
from fairalm import EqualOpportunity, FairALMClassifier, FrontierClassifier
from fairalm.files import write_json

TOL = 0.01
CONSTRAINT = EqualOpportunity(tol=TOL)
LEAST_SECONDS, MOST_FITS = 0.3, 15  # a short fit is repeated, up to this many times
FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Fitted:
    """The probability that a row is predicted as 1, by features and groups; and how often the estimator was fitted."""

    chosen: Callable[[np.ndarray, np.ndarray], np.ndarray]
    fits: int


def plain(p: Problem) -> Fitted:
    model = p.make().fit(p.X, p.y)
    return Fitted(lambda X, s: model.predict(X), 1)


def ours(predictor):
    def fit(p):
        model = FairALMClassifier(p.make(), constraint=CONSTRAINT, predictor=predictor, random_state=p.seed)
        model.fit(p.X, p.y, sensitive_features=p.s)
        parts = list(zip(model.weights_, model.estimators_, strict=True))
        return Fitted(lambda X, s: sum(w * np.asarray(part.predict(X)) for w, part in parts), model.n_oracle_calls_)

    return fit


def frontier(p):
    model = FrontierClassifier(p.make(), constraint=CONSTRAINT, random_state=p.seed)
    model.fit(p.X, p.y, sensitive_features=p.s)
    return Fitted(lambda X, s: model.predict(X), model.n_oracle_calls_)


def exponentiated_gradient(bound):
    def fit(p):
        model = ExponentiatedGradient(p.make(), TruePositiveRateParity(difference_bound=bound))
        model.fit(p.X, p.y, sensitive_features=p.s)
        return Fitted(lambda X, s: model._pmf_predict(X)[:, 1], model.n_oracle_calls_)

    return fit


def grid_search(p):
    search = GridSearch(p.make(), TruePositiveRateParity(), grid_size=GRID_SIZE)
    search.fit(p.X, p.y, sensitive_features=p.s)
    (best,) = best_of_grid(search, p, CONSTRAINT, (TOL,))
    return Fitted(lambda X, s: np.asarray(best.predict(X)), len(search.predictors_))


def threshold_optimizer(p):
    model = ThresholdOptimizer(
        estimator=p.make(), constraints="true_positive_rate_parity", predict_method="predict_proba"
    )
    model.fit(p.X, p.y, sensitive_features=p.s)
    return Fitted(lambda X, s: model._pmf_predict(X, sensitive_features=s)[:, 1], 1)


SINGLE, MIXTURE, FRONTIER = "FairALMClassifier", "FairALMClassifier, mixture", "FrontierClassifier"
GRADIENT, HALF_GRADIENT = "ExponentiatedGradient", "ExponentiatedGradient, tol / 2"
CONTENDERS = {
    "plain": plain,
    SINGLE: ours("single"),
    MIXTURE: ours("mixture"),
    FRONTIER: frontier,
    GRADIENT: exponentiated_gradient(TOL),
    HALF_GRADIENT: exponentiated_gradient(TOL / 2),
    "GridSearch": grid_search,
    "ThresholdOptimizer": threshold_optimizer,
}
SEVERAL_GROUPS_ONLY = (MIXTURE, HALF_GRADIENT)


def warm_up(contender: str, estimator: str) -> None:
    """A tiny fit, so that libraries are loaded before time and memory are measured."""
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((400, 3)), np.arange(400) % 2
    y = (X[:, 0] + 0.5 * s + rng.standard_normal(400) > 0).astype(int)
    Problem("tiny", False, estimator, 0, X, y, s, X, y, s).make().fit(X, y)
    CONTENDERS[contender](Problem("tiny", False, "logistic", 0, X, y, s, X, y, s))


def resident(name: str) -> int:
    """VmRSS or VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"/proc/self/status has no {name}.")


def forget_peak() -> int:
    """Give freed memory back, set the peak of this process to what it has now, and return that in bytes."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return resident("VmRSS")


def run(p: Problem, contender: str) -> dict:
    """Figures of one contender on one problem; medians of processor and wall time if the fit is repeated.

    The memory is the growth of this process's resident memory, at its peak, during the first fit.
    """
    warm_up(contender, p.estimator)
    before, cpu, wall, peak = forget_peak(), [], [], 0
    while not cpu or (sum(cpu) < LEAST_SECONDS and len(cpu) < MOST_FITS):
        begin = time.process_time(), time.perf_counter()
        fitted = CONTENDERS[contender](p)
        cpu.append(time.process_time() - begin[0])
        wall.append(time.perf_counter() - begin[1])
        peak = peak or resident("VmHWM") - before
    seen, new = fitted.chosen(p.X, p.s), fitted.chosen(p.X_new, p.s_new)
    return {
        "cpu": float(np.median(cpu)),
        "wall": float(np.median(wall)),
        "fits": int(fitted.fits),
        "memory": peak,
        "X bytes": p.X.nbytes,
        "train error": float(abs(seen - p.y).mean()),
        "train gap": spread(seen, p.y, p.s, CONSTRAINT),
        "resolution": 0.5 / int(np.bincount(p.s[p.y == 1]).min()),
        "test error": float(abs(new - p.y_new).mean()),
        "test gap": spread(new, p.y_new, p.s_new, CONSTRAINT),
        "floor": floor(new, p.y_new, p.s_new, CONSTRAINT),
        "constant error": float(min(p.y_new.mean(), 1 - p.y_new.mean())),
    }


def _send(sender, call):
    try:
        sender.send(call())
    except Exception as error:
        sender.send({"failed": f"{type(error).__name__}: {error}".splitlines()[0]})


def in_child(call: Callable[[], dict], limit: float) -> dict:
    """The result of a call in a process that shares this one's data; or that it failed, or was stopped.

    A process that takes longer than `limit` seconds is ended, and its processor time returned.
    """
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_send, args=(sender, call))
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    child.start()
    sender.close()
    try:
        result = receiver.recv() if receiver.poll(limit) else {}
    except EOFError:
        result = {"failed": "the process ended without a result"}
    finally:
        child.kill()
        child.join()
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used
    return result or {"stopped": used, "cpu": used}


def fingerprint() -> str:
    """Of the package and of the benchmarks: results of other code are not continued."""
    folders = (Path(fairalm.__file__).parent, Path(__file__).parent)
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


class Results:
    """The records of a run, written to a file after each; a later run of the same code continues there."""

    def __init__(self, path: Path) -> None:
        self.path, self.records = path, []
        self.code = fingerprint()
        if path.exists():
            saved = json.loads(path.read_text())
            if saved["code"] == self.code:
                self.records = saved["records"]
            else:
                print(f"{path} is of other code: it is written anew.", flush=True)

    def find(self, **key) -> dict | None:
        """The first record with these values."""
        return next((r for r in self.records if all(r[name] == value for name, value in key.items())), None)

    def add(self, record: dict) -> None:
        """Add a record and write the file."""
        self.records.append(record)
        write_json(self.path, {"code": self.code, "records": self.records})


def check_one_thread() -> None:
    """Processor times of several threads would mean little."""
    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise SystemExit("Set OMP_NUM_THREADS=1: times are compared in one thread.")
