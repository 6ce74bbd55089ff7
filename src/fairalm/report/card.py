"""A model card in Markdown, with the metadata that the Hugging Face hub reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairalm.plain_text import plain
from fairalm.report.changes import changes
from fairalm.report.hub import metadata
from fairalm.report.release import LEFT_OUT


def model_card(facts: Mapping[str, Any]) -> str:
    """The card of the model that the verdict is about; `facts` from :func:`fairalm.report.facts.gather`."""
    model, people = facts["models"][facts["headline"]], facts["people"]
    run, verdict = facts["runs"][model["run"]], facts["verdict"]
    groups = [
        [group["name"], *(LEFT_OUT if n is None else f"{n:,}" for n in (*group["counts"], group["total"]))]
        for group in people["groups"]
    ]
    rates = [
        [group["name"], *(f"{f['text']} {f['interval']}" if f else LEFT_OUT for f in group["rates"].values())]
        for group in model["groups"]
    ]
    names = [rate["name"] for rate in facts["rates"].values()]
    settings = ", ".join(f"{escape(name)} {escape(str(value))}" for name, value in model["settings"].items())
    sizes = escape(", ".join(f"{number} {part}" for part, number in people["sizes"].items()))
    parts = [
        *filter(None, [metadata(facts, model)]),
        f"# {escape(run['name'])}",
        f"Predicts {escape(facts['label'])}. Trained with fairalm, {settings}.",
        "## Fairness",
        escape(f"{facts['constraint']['sentence']} {verdict['text']}"),
        escape(" ".join(verdict["answers"][-1].values())),
        *(f"**Warning in training:** {escape(warning)}" for warning in model["warnings"]),
        escape(
            f"Test error {model['error']['text']}. Brackets are 95 % intervals on {facts['rows_are']} not trained on."
        ),
        *_changes(facts, model),
        _table(["group", *names], rates),
        "\n".join(f"- {escape(rate['name'])}: {escape(rate['meaning'])}" for rate in facts["rates"].values()),
        "## Data",
        f"{escape(run['data'])}: {sizes}. Protected: {escape(' × '.join(run['protected']))}. Fingerprint"
        f" {_code(run['fingerprint'])}.",
        _table(["group", *people["labels"], "all"], groups),
        *(map(escape, facts["privacy"]) if facts["rounded_to"] else ()),
        "## Limits",
        "\n".join(f"- {escape(text)}" for text in facts["limits"]),
        "## How it was made",
        f"{_code(run['command'])}, {escape(run['split'])}, "
        + ("" if run["seconds"] is None else f"{run['seconds']:.1f} s of fitting, ")
        + ", ".join(escape(f"{name} {version}") for name, version in run["versions"].items())
        + ".",
    ]
    return "\n\n".join(parts) + "\n"


def _changes(facts: Mapping[str, Any], model: Mapping[str, Any]) -> list[str]:
    """Each group's rates from the plain model to this one; nothing if there is no plain model beside it."""
    if model["plain"] is None:
        return []
    columns = [changes(facts, model, rate) for rate in facts["changed"]]
    rows = [
        [group["name"], *(change.text for change in row)] for group, *row in zip(model["groups"], *columns, strict=True)
    ]
    head = ["group", *(facts["rates"][rate]["name"] for rate in facts["changed"])]
    return ["From the plain model to this one, with 95 % intervals:", _table(head, rows), "All rates of this model:"]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(c if c == "---" else escape(c) for c in line) + " |" for line in lines)


def _code(text: str) -> str:
    """A code span whose fence is longer than any backticks in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " * bool(longest)
    return f"{fence}{space}{plain(text)}{space}{fence}"


def escape(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line; addresses in it are no links.

    >>> escape("<b>|a_b")
    '\\<b\\>\\|a\\_b'
    """
    return re.sub(r"([\\`*_{}\[\]<>|#&~@]|:(?=//)|(?<=www)\.)", r"\\\1", plain(text))
