"""What a constrained fit costs: every contender on tables, a survey and made-up rows, as multiples of a plain fit.

    OMP_NUM_THREADS=1 python benchmarks/speed.py [--full] [--parts tables,income,rows,groups,features,boosting]
        [--minutes 37] [--results build/bench/speed.json] [--write docs/benchmarks/speed.md docs/benchmarks/tables.md]

Equal opportunity at a tolerance of 0.01. For each problem and seed, the contenders take turns, each fit in a process of
its own (harness.py) with a time limit. The file of results is written after each fit, and a run that was stopped
continues there, unless the code has changed. Without --full: fewer seeds, rows and contenders, in a few minutes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from common import start, write_between
from harness import CONTENDERS, SEVERAL_GROUPS_ONLY, Results, check_one_thread, in_child, run
from speed_data import load_of, title_of
from speed_tables import render

from fairalm import InputError

TABLES = ("adult", "compas", "german", "law")
GROUPS = (2, 5, 10, 20, 50)
PARTS = ("tables", "income", "rows", "groups", "features", "boosting")
ONCE = ("GridSearch",)  # with the first seed only: fifty fits or more, whatever the problem


@dataclass(frozen=True)
class Case:
    """A problem with an estimator, how many seeds it is run with, and how long a contender may take, in seconds."""

    title: str
    seeds: int
    limit: float
    estimator: str = "logistic"
    smaller: str | None = None  # the same with a tenth of the rows, run before


def cases(part: str, full: bool) -> list[Case]:
    """What a part of the benchmark runs."""
    few = 3 if full else 1
    if part == "tables":
        return [Case(name, 5 if full else 1, 60) for name in TABLES]
    if part == "income":
        return [Case(f"ACSIncome, {by}", 1, 90 if full else 20) for by in ("sex", "race")]
    if part == "rows":
        titles = [title_of(10**power, 2) for power in (4, 5, 6, 7)]
        chain = zip(titles, (few, few, 1, 1), (60, 60, 100, 200), (None, *titles), strict=False)
        rows = [Case(title, seeds, limit, smaller=smaller) for title, seeds, limit, smaller in chain]
        return rows if full else rows[:2]
    if part == "groups":
        groups = [Case(title_of(10**5, n), few if n in (2, 10) else 1, 45 if full else 15) for n in GROUPS]
        aware = [Case(title_of(10**5, n, aware=True), 1, 45 if full else 15) for n in (10, 50)]
        return groups + aware if full else groups[::2]
    if part == "features":
        return [Case(title_of(10**5, 2, n), few, 60) for n in ((5, 20, 80) if full else (5, 20))]
    titles = [*TABLES, title_of(10**4, 2), "ACSIncome, race"] if full else ["compas"]
    return [Case(title, 1, 90 if full else 15, "boosting") for title in titles]


def expected_seconds(results: Results, case: Case, contender: str) -> float:
    """From the problem with a tenth of the rows; 0 if it was not run."""
    smaller = results.find(title=case.smaller, estimator=case.estimator, contender=contender)
    return 10 * smaller.get("wall", smaller["cpu"]) if smaller and "cpu" in smaller else 0.0


def run_case(results: Results, case: Case, chosen: list[str], deadline: float) -> None:
    """Add the records that are missing: seed by seed, one contender after the other."""
    for seed in range(case.seeds):
        key = {"title": case.title, "estimator": case.estimator, "seed": seed}
        missing = [name for name in chosen if is_missing(results, key, name)]
        if not missing or time.perf_counter() > deadline:
            continue
        p = load_of(case.title)(seed, case.estimator)
        n_groups = int(p.s.max()) + 1
        for name in missing:
            if (n_groups == 2 and name in SEVERAL_GROUPS_ONLY) or time.perf_counter() > deadline:
                continue
            record = {**key, "contender": name, "rows": len(p.y), "groups": n_groups, "features": p.X.shape[1]}
            begin, expected = time.perf_counter(), expected_seconds(results, case, name)
            if expected > case.limit:
                figures = {"expected": expected}
            else:
                figures = in_child(lambda p=p, name=name: run(p, name), case.limit)
            results.add({**record, **figures})
            print(f"{line_of(record, figures)} ({time.perf_counter() - begin:.0f} s)", flush=True)


def is_missing(results: Results, key: dict, contender: str) -> bool:
    """Whether a fit is still to be run; one that did not finish with the first seed is not tried with others."""
    first = results.find(**key | {"seed": 0}, contender=contender)
    if key["seed"] > 0 and (contender in ONCE or (first and "wall" not in first)):
        return False
    return results.find(**key, contender=contender) is None


def line_of(record, figures):
    """What to print when a fit is done."""
    title = f"{record['title']}, {record['estimator']}, seed {record['seed']}, {record['contender']}"
    if "expected" in figures:
        return f"{title}: not run, it would take about {figures['expected']:.0f} seconds"
    if "stopped" in figures:
        return f"{title}: stopped"
    if "failed" in figures:
        return f"{title}: failed, {figures['failed']}"
    return f"{title}: {figures['cpu']:.3f} s, {figures['fits']} fits, training gap {100 * figures['train gap']:.2f}"


def some_of(text, known, option):
    """The names in a list with commas."""
    chosen = text.split(",")
    for name in chosen:
        if name not in known:
            raise SystemExit(f"{option}: {name!r} is not one of {', '.join(known)}")
    return chosen


def main():
    parser = start(__doc__)
    parser.add_argument("--full", action="store_true", help="all problems")
    parser.add_argument("--minutes", type=float, default=37, help="start no fit after this time; run again to continue")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--titles", help="part of the titles of the problems, such as 'adult'")
    parser.add_argument("--contenders", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--results", type=Path, help="file to continue; build/bench/speed.json with --full")
    parser.add_argument("--write", type=Path, nargs="+", default=[], help="pages with markers of the parts")
    options = parser.parse_args()
    check_one_thread()
    chosen = ["plain", *(name for name in options.contenders if name != "plain")]  # what the times are multiples of
    for page in options.write:
        if "<!-- speed goals -->" not in (text := page.read_text(encoding="utf-8")) and "<!-- tabular -->" not in text:
            raise SystemExit(f"{page} has no markers of this benchmark, such as <!-- speed goals -->.")
    results = Results(options.results or Path("build/bench") / ("speed.json" if options.full else "quick.json"))
    begin = time.perf_counter()
    deadline = begin + 60 * options.minutes
    for part in some_of(options.parts, PARTS, "--parts"):
        for case in cases(part, options.full):
            if (options.titles or "") in case.title:
                try:
                    run_case(results, case, chosen, deadline)
                except (InputError, FileNotFoundError) as reason:
                    print(f"{case.title} left out: {reason}", flush=True)
    print(f"\n{time.perf_counter() - begin:.0f} seconds\n")
    if time.perf_counter() > deadline:
        print("The time is up: run the command again for the fits that are left.\n")
    if not results.records:
        raise SystemExit("There are no results yet.")
    texts = render(results.records)
    for marker, text in texts.items():
        print(f"{marker}\n\n{text}\n")
    for page in options.write:
        for marker, text in texts.items():
            if f"<!-- {marker} -->" in page.read_text(encoding="utf-8"):
                write_between(page, marker, text)


if __name__ == "__main__":
    main()
