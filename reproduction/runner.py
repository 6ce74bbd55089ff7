"""Runs the jobs of an experiment on all cores, keeps each result so that nothing is run twice, and writes the files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import parallel_config
from sklearn.utils.parallel import delayed

from fairalm.console import is_terminal, print_table, say, say_error, say_path
from fairalm.exceptions import InputError
from fairalm.files import to_json, write_atomic, write_json, write_png
from fairalm.json_reader import read_json
from fairalm.progress import progress_bar
from fairalm.workers import run_jobs
from reproduction.experiment import Experiment, Job, Result, Results, markdown_of
from reproduction.page import write_pages


@dataclass
class Runner:
    """Runs jobs and keeps their results in the folder ``out/jobs``."""

    out: Path  # of the experiment
    data_dir: str | None = None  # folder with the official files
    processes: int = -1  # -1 for one per core
    dask: str | None = None  # a Dask scheduler whose workers run the jobs instead; they need this repository
    quiet: bool = False  # whether to print nothing to stdout
    n_failed: int = 0  # jobs that have failed so far

    def read(self, job: Job) -> Result | None:
        """The kept result of a job; None if it has not been run."""
        path = self._path(job)
        if not path.is_file():
            return None
        advice = "it is not a job of this experiment: remove it, or choose another folder"
        kept: dict[str, Any] = read_json(path, "job", advice=advice)
        if kept["config"] != json.loads(to_json(job.config)):
            raise InputError(f"{path} was made with other settings: choose another folder for these.")
        return kept

    def _path(self, job: Job) -> Path:
        return self.out / "jobs" / f"{job.name}.json"

    def __call__(self, jobs: Sequence[Job]) -> list[Result]:
        """Run the jobs that have no result yet; all results, in the order of `jobs`. Failed jobs are left out."""
        kept = {job: self.read(job) for job in jobs}
        missing = [job for job, result in kept.items() if result is None]
        if len(missing) < len(kept) and not self.quiet:
            say(f"{len(kept) - len(missing)} of {len(kept)} jobs are in {self.out} already.")
        failed: dict[str, str] = {}
        with progress_bar(len(missing), shown=is_terminal(), text=f"{len(missing)} jobs") as update, self._workers():
            work = run_jobs((delayed(_attempt)(job, self.data_dir) for job in missing), None, ordered=False)
            for done, (job, result, problem) in enumerate(work, start=1):
                if result is None:
                    failed[job.name] = problem
                else:
                    write_json(self._path(job), result)
                    kept[job] = self.read(job)  # the same as after a second start
                update(done, f"{job.name} done")
        for name, problem in failed.items():
            say_error(f"Warning: {name} failed; the same command will try it again: {problem}")
        self.n_failed += len(failed)
        results = [result for result in kept.values() if result is not None]
        if not results:
            raise InputError("Every job failed; see the warnings above.")
        return results

    @contextmanager
    def _workers(self) -> Iterator[None]:
        if self.dask is None:
            with parallel_config(backend="loky", n_jobs=self.processes):
                yield
            return
        try:
            from distributed import Client
        except ImportError as error:
            raise ImportError('A Dask cluster needs dask: pip install "fairalm[dask]".') from error
        try:
            client = Client(self.dask, timeout=10)  # type: ignore[no-untyped-call]
        except OSError as error:
            raise InputError(f"There is no Dask scheduler at {self.dask}: start one, or check the address.") from error
        with client, parallel_config(backend="dask"):
            yield


def _attempt(job: Job, data_dir: str | None) -> tuple[Job, Result | None, str]:
    """A job that fails must not stop the others; each runs on one core, its own steps are not sent to the workers."""
    try:
        with parallel_config(backend="sequential"):
            return job, {"config": job.config, **job.run(data_dir)}, ""
    except Exception as error:
        return job, None, f"{type(error).__name__}: {error}"


def run_experiment(experiment: Experiment, command: str, *, as_json: bool = False, **options: Any) -> None:
    """Run an experiment, write its files, and print its tables or, with `as_json`, JSON; `options` are the runner's."""
    start = time.perf_counter()
    with progress_bar(None, shown=is_terminal(), text="reading the data"):
        experiment.prepare()
    experiment.out.mkdir(parents=True, exist_ok=True)  # before the work, in case it cannot be made
    run = Runner(experiment.out, experiment.data_dir, quiet=as_json, **options)
    results = experiment.collect(run)
    lines = write_files(experiment, results, command)
    if as_json:
        tables = {name: table.to_dict("records") for name, table in experiment.frames(results).items()}
        facts = {"out": experiment.out, **tables, **experiment.facts(results), "failed": run.n_failed}
        say_path(to_json(facts))
        return
    for block in experiment.text(results):
        if isinstance(block, str):
            say(block)
        else:
            print_table(block.head, block.rows, left=block.left)
    lines[0] += f", after {time.perf_counter() - start:.0f} s"
    for line in lines:
        say_path(line)


def write_files(experiment: Experiment, results: Results, command: str) -> list[str]:
    """Write tables, figures and pages, and return the lines that say where they are."""
    out, tables = experiment.out, experiment.frames(results)
    files = {f"{name}.csv": table.to_csv(index=False) for name, table in tables.items()} | experiment.files(results)
    if blocks := list(experiment.markdown(results)):
        files["table.md"] = markdown_of(blocks)
    for name, content in files.items():
        if isinstance(content, str):
            write_atomic(out / name, content.encode())
        else:
            write_json(out / name, content)
    names, lines = sorted(files), []
    try:
        for name, figure in experiment.figures(results):
            if callable(figure):
                figure(path=out / name)
            else:
                write_png(out / name, figure)
            names.append(name)
    except ImportError as error:
        lines.append(f"No figures: {error}")
    pages = write_pages(experiment.pages(results), out, command)
    return [f"Written to {out} ({', '.join(names)}; jobs)", *lines, *pages]
