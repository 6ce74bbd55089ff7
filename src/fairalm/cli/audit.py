"""``fairalm audit``."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from fairalm._validation import check_parameter
from fairalm.cli import _options as opt
from fairalm.cli._audit_tables import show_audit, show_ll144
from fairalm.cli._output import print_json, working, written_page
from fairalm.console import say_path
from fairalm.datasets import name_of
from fairalm.exceptions import InputError
from fairalm.files import AUDIT, LL144
from fairalm.folders import reserved
from fairalm.report.audit_page import write_audit_page
from fairalm.report.facts import MIN_CELL
from fairalm.report.ll144_page import write_ll144_page
from fairalm.runs import Decisions, LocalLaw144, ll144
from fairalm.runs import audit as measure
from fairalm.runs.audits import TABLES
from fairalm.runs.ll144 import CSV

PAGE, LL144_PAGE = "audit.html", "ll144.html"
FORMATS = ("audit", "ll144")

GIVEN: dict[str, Any] = {
    "data": Annotated[
        str,
        typer.Argument(metavar="DATA", help="A .csv (also .csv.gz) or .parquet file, or a folder of .parquet files."),
    ],
    "decision": opt.text(
        "COL", "Column of the decision or predicted label: two values, or up to 20, each compared against the rest."
    ),
    "score": opt.text("COL", "Column of a score, the higher the better for the person."),
    "target": opt.text("COL", "Column of the true outcome, if it is known; the same values as --decision."),
    "protected": Annotated[list[str] | None, opt.Protected],
    "attributes": opt.text(
        "both|separate|crossed",
        "Several protected columns: look at each on its own, at the crossed groups, or at both, since decisions can be"
        " even in each column and uneven where they cross.",
    ),
    "reference": Annotated[
        list[str] | None,
        Option(
            metavar="GROUP",
            help="Group to compare with, one for each protected column. Default: the highest rate of the groups"
            " with at least 2 % of the rows; with several labels, the largest group.",
        ),
    ],
    "positive": opt.text(
        "VALUE",
        "Value that means selected, against all others. Default: the larger of two, 1 or 'yes'. With more than two and"
        " no VALUE, no label is favourable, so no ratio is judged.",
    ),
    "weight": opt.TRAIN_SOURCE["weight"],
    "missing": opt.text(
        "unknown|error|drop|group",
        "Rows without a protected value: count them and leave them out of the ratios, refuse them, leave them out of"
        " every table, or make them a group of their own.",
    ),
    "unknown": Annotated[
        list[str] | None,
        Option(metavar="VALUE", help="Value of a protected column that means unknown, such as 'declined'."),
    ],
    "merge_below": opt.SOURCE["merge_below"],
    "tol": opt.number(
        float,
        "Tolerance of the verdicts about differences: 0.05 is five points. One point cannot be told from chance on most"
        " tables.",
    ),
    **opt.CSV,
    "rows_are": opt.SOURCE["rows_are"],
}
LAW: dict[str, Any] = {
    "sex": opt.text("COL", "ll144: column of the sex."),
    "race": opt.text("COL", "ll144: column of race/ethnicity."),
    "leave_out_below": opt.number(
        float | None, "ll144: no impact ratio for categories with a smaller share of the rows; at most 0.02."
    ),
    "reason": opt.text("TEXT", "ll144: why they are left out; the rule asks for it."),
    "tool": opt.text("TEXT", "ll144: name of the tool that is audited."),
    "audit_date": opt.text("DATE", "ll144: date of the audit, such as 2026-03-31."),
    "distribution_date": opt.text("DATE", "ll144: the tool's distribution date."),
    "data_source": opt.text("TEXT", "ll144: source and explanation of the data."),
}


@opt.takes(given=(Decisions, GIVEN), law=(LocalLaw144, LAW))
def audit(
    context: typer.Context,
    given: Decisions,
    law: LocalLaw144,
    form: Annotated[
        str,
        Option(
            "--format",
            metavar="audit|ll144",
            help="ll144: exactly the three tables of New York City's Local Law 144.",
        ),
    ] = "audit",
    min_cell: Annotated[
        int, Option(metavar="N", min=1, help="Smallest count that the page shows; the other files have all.")
    ] = MIN_CELL,
    no_files: Annotated[bool, Option("--no-files", help="Only print.")] = False,
    out: Annotated[
        Path | None, Option("-o", "--out", metavar="DIR", help="Folder to write.", show_default="audits/DATA")
    ] = None,
    raw: opt.Raw = False,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Measure given decisions or scores by group.

    They may come from any model, rule or person, but not for the rows a model was trained on: there it looks better
    than it is. No model and no outcomes are needed.

    What you get: the share of each group that is selected (of scores: that is above the median, and the shares at
    several thresholds), its ratio to that of the reference group, tests, and with --target all rates and gaps; each
    with a 95 % interval. The smallest ratio is judged against four-fifths and each difference against --tol: met, not
    met, or cannot tell. Decisions of more than two labels have a rate, a test and a difference for each label.

    A folder DIR has the same as a page (audit.html), as audit.json, and as tables.csv.
    In tables.csv, names that a spreadsheet would run as a formula get an apostrophe before them, unless --raw.

    For example:
      fairalm audit decisions.csv --decision selected --protected sex
      fairalm audit loans.csv --decision granted --target repaid
          --protected race --protected sex --reference white
      fairalm audit applicants.csv --score rating --protected sex
      fairalm audit grades.csv --decision grade --protected race
      fairalm audit applicants.csv --decision selected --format ll144
          --sex sex --race ethnicity --audit-date 2026-03-31
    """
    check_parameter("format", form, FORMATS)
    is_law = form == "ll144"
    if not is_law and law != LocalLaw144():
        named = {name: None for name in LAW if getattr(law, name) is not None}
        raise InputError(f"{{{next(iter(named))}}} is for {{format}}.", **named, format="ll144")
    out = None if no_files else out or _new_folder(given, is_law)
    with nullcontext() if out is None else reserved(out, overwrite=overwrite), working(f"reading {given.data}"):
        command = opt.typed(context)
        done: Any = ll144(given, law, command=command) if is_law else measure(given, command=command)
        written = [] if out is None else _write(done, out, raw, overwrite, is_law, min_cell)
    if as_json:
        print_json({**({} if out is None else {"out": out}), **done.facts})
        return
    (show_ll144 if is_law else show_audit)(done.facts)
    for line in written:
        say_path(line)


def _new_folder(given: Decisions, is_law: bool) -> Path:
    name = re.sub(r"[^\w.-]+", "-", name_of(given.data))
    return Path("audits") / (f"{name}-ll144" if is_law else name)


def _write(done: Any, out: Path, raw: bool, overwrite: bool, is_law: bool, min_cell: int) -> list[str]:
    """Write the folder; the lines that say what is in it."""
    with done.saving(out, overwrite=overwrite, raw=raw) as part:
        if is_law:
            write_ll144_page(part / LL144_PAGE, done.facts)
            return [f"Written to {out}: {LL144}, {CSV}", f"Page: {out / LL144_PAGE}"]
        no_page = written_page(part / PAGE, lambda page: write_audit_page(page, done.facts, min_cell=min_cell))
    return [f"Written to {out}: {AUDIT}, {TABLES}", no_page or f"Page: {out / PAGE}"]
