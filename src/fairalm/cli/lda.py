"""``fairalm lda``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fairalm import console
from fairalm.cli import _options as opt
from fairalm.cli import _output as output
from fairalm.folders import reserved
from fairalm.report import lda_words as words
from fairalm.report.lda_page import write_lda_page
from fairalm.runs import LdaSettings, LdaSource
from fairalm.runs import lda as search
from fairalm.runs.choices import WITH_PROBABILITIES

PAGE = "lda.html"
SOURCE = opt.SOURCE | {
    "positive": opt.text("VALUE", "Label that is good: a model accepts where it predicts it. Default: the larger."),
    "missing": opt.text(
        "error|drop|group|unknown",
        "Rows without a protected value: refuse them, leave them out, make them a group, or let them count for"
        " acceptance and bad rate and not for the ratios.",
    ),
    "with_protected": Annotated[
        bool, typer.Option("--with-protected", help="Let the models use the protected columns.")
    ],
}
SETTINGS: dict[str, Any] = {
    "reference": opt.text("GROUP", "Group that the others are compared with."),
    "acceptance": opt.number(
        float | None, "Share of all rows that every model accepts.", show_default="the share that --incumbent accepts"
    ),
    "ratio": opt.number(float, "Lowest ratio of shares accepted to reach: 0.8 is the four-fifths rule."),
    "margin": opt.number(float, "By how much the bad rate among the accepted may rise: 0.005 is half a point."),
    "estimator": Annotated[
        list[str], typer.Option(metavar="NAME", help=f"Model, repeatable: {', '.join(WITH_PROBABILITIES)}.")
    ],
    "incumbent": opt.text(
        "COL", "Column with the present decisions, as labels: the baseline. Default: the best model without a limit."
    ),
    "choose_size": opt.number(float, "Share of the rows to choose on."),
    "test_size": opt.number(float, "Share of the rows to judge on, once."),
    "folds": opt.FRONTIER_SETTINGS["folds"],
    "seed": opt.Seed,
}
NewSearch = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="RUN", help="Folder to write.", show_default="runs/DATA-lda")
]


@opt.takes(source=(LdaSource, SOURCE), settings=(LdaSettings, SETTINGS))
def lda(
    context: typer.Context,
    source: LdaSource,
    settings: LdaSettings,
    out: NewSearch = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Search for a less discriminatory alternative at no significant loss, and document the search.

    All models accept the same share of the rows. The baseline is the best model without a limit, or the decisions of
    --incumbent. An alternative must have a better adverse impact ratio (a group's share accepted over that of
    --reference), while the share of bad rows among those it accepts rises by no more than --margin, chance allowed for.
    Models are fitted on half of the rows, one is chosen on a quarter by a rule that is stated beforehand, and the last
    quarter judges it, once.

    What you get: the answer in words, a table of baseline and alternative with 95 % intervals, and a folder RUN with
    log.csv (every model tried, with its figures), table.csv, lda.json (all of it; what --json prints), config.json,
    lda.html (a page to sign and to file) and, if an alternative was found, model.skops (for fairalm predict).

    For example:
      fairalm lda loans.csv --target repaid --protected race --reference white
          --acceptance 0.8
    Bad is 1, race is partly unknown, and the goal is 0.9:
      fairalm lda loans.csv --target default --positive 0 --protected race
          --reference white --missing unknown --acceptance 0.7 --ratio 0.9
    Against the decisions of the model in use:
      fairalm lda loans.csv --target repaid --protected race --reference white
          --incumbent approved -o runs/search
    """
    out = out or output.run_folder(source.data, "lda")
    with reserved(out, overwrite=overwrite):
        done = search(source, settings, progress=console.is_terminal(), command=opt.typed(context))
        content = done.to_dict()
        with done.saving(out, overwrite=overwrite) as part:
            no_page = output.written_page(part / PAGE, lambda path: write_lda_page(path, content))
    if as_json:
        output.print_json({"run": out, **content})
        return
    _show(content)
    model = ["model.skops"] * (done.verdict == "found")
    console.say_path(f"Written to {out}: {', '.join([*model, 'config.json', 'log.csv', 'table.csv', 'lda.json'])}")
    console.say_path(no_page or f"Page: {out / PAGE}")


def _show(content: Mapping[str, Any]) -> None:
    """Print the protocol, the answer, the table and what it means."""
    for line in words.protocol(content):
        console.say(line)
    console.say()
    console.say(words.verdict_line(content))
    for question, answer in words.answers(content):
        console.say(f"{question} {answer}")
    console.say()
    _show_table(content)
    console.say()
    for line in words.meaning(content):
        console.say(line)
    console.say()


def _show_table(content: Mapping[str, Any]) -> None:
    judged, changes = content["splits"]["judge"], content["changes"] or {}
    console.say(f"On the judging rows, 95 % intervals; ratios are to {content['config']['reference']}:")
    console.print_table(
        ["", *judged, *(["change"] if changes else [])],
        [
            (
                words.measure_name(name),
                *(words.figure_text(own.get(name), name) for own in judged.values()),
                *([words.change_text(changes.get(name), name)] if changes else []),
            )
            for name in words.measures_of(content)
        ],
    )
