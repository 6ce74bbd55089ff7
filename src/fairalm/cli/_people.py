"""Who is in the table, in print."""

from __future__ import annotations

from typing import Any

from fairalm.cli._data import People
from fairalm.cli._output import percent, print_table, say


def show_people(people: People) -> None:
    """Print how many there are, by group."""
    positive, groups = people.data.y, people.groups
    say(
        f"{people.data.name}: {len(positive):,} people, {percent(positive.mean())} with {people.label}; protected:"
        f" {', '.join(people.data.protected)}."
    )
    if people.n_dropped:
        say(f"Left out: {people.n_dropped:,} people without a protected value.")
    print_table(
        ["group", "people", "share", people.label],
        [
            (name, f"{size:,}", percent(size / len(positive)), percent(positive[groups.codes == code].mean()))
            for code, (name, size) in enumerate(zip(groups.names, groups.sizes, strict=True))
        ],
    )
    say()


def source_entry(people: People) -> dict[str, Any]:
    """What metrics.json keeps of the question: whose label, which column, and whether the model sees it."""
    data = people.data
    return {
        "target": data.target,
        "positive": data.positive,
        "protected": data.protected,
        "with_protected": people.with_protected,
    }


def protected_sentence(people: People) -> str:
    """Say whether the model sees the protected columns, and how to change it."""
    columns = ", ".join(people.data.protected)
    if people.with_protected:
        return f"The model may use {columns} (--without-protected keeps it out)."
    return f"The model does not see {columns} (--with-protected lets it)."
