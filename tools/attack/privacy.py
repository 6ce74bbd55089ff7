"""Small counts that a page hides, guessed by an attacker who knows everything else.

The attacker has all that is published about some people: every figure, word and number of the page, also those that
only its script reads, and the card. He knows the program, and he knows every other count exactly. He tries each value
that a hidden count of 1 to 9 can have: a value is possible if a table with it is published in exactly the same way. A
hidden count is *recovered* if no other value than its own is possible, and *narrow* if fewer than three are.
Enumerating the tables that agree with the published figures cannot find fewer values: here every figure takes part,
and the other counts are given away.

`metrics.json`, `audit.json` and `tables.csv` keep all counts and are not for publication, so they are not attacked; the
tables of Local Law 144 are exact by law.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tools.attack.outcome import Outcome
from tools.attack.people import made_up, real
from tools.attack.worlds import Cell, World, same_publication

ENOUGH = 3  # values that should remain possible; a count with fewer is narrow
ORDERS = 3  # a count that is a sum can change in several ways: so many are tried before it is called narrow
FULL, SHORT = 300, 24  # made-up worlds
WHOLE = 10  # of each so many hidden counts, all possible values are counted


def attack(*, full: bool, seed: int) -> Iterator[Outcome]:
    """Guess the hidden counts of made-up tables of every kind, and with `full` of real ones."""
    worlds = made_up(np.random.default_rng(seed), FULL if full else SHORT)
    yield attacked("hidden counts of made-up people", worlds, most_each=4 if full else 3)
    if full:
        yield attacked("hidden counts of real people", real(seed), most_each=40)


def attacked(what: str, worlds: Iterable[World], *, most_each: int, whole: int = WHOLE) -> Outcome:
    """Guess up to `most_each` hidden counts of each world; of each `whole` of them, count all possible values."""
    outcome, n_pages, n_narrow = Outcome(what), 0, 0
    sizes: list[int] = []  # how many values are left
    for number, world in enumerate(worlds):
        cells = world.small()
        if not cells:
            continue
        n_pages += 1
        chosen = np.random.default_rng(number).permutation(len(cells))[:most_each]
        text = world.publish()
        for cell in (cells[place] for place in chosen):
            is_whole = outcome.tries % whole == whole - 1
            outcome.tries += 1
            values = possible(world, cell, text, enough=None if is_whole else ENOUGH)
            n_narrow += len(values) < ENOUGH
            if is_whole:
                sizes.append(len(values))
            if len(values) == 1:
                outcome.fail("silent", f"world {number}: {dict(cell)} is {world.count(cell)}")
    left = f"{min(sizes)} to {max(sizes)}, median {np.median(sizes):.0f}" if sizes else "not counted"
    outcome.note = f"{n_pages} pages; {n_narrow} narrow; values left of every tenth count: {left}"
    return outcome


def possible(
    world: World, cell: Cell, text: str | None = None, *, enough: int | None = None, tries: int = ORDERS
) -> set[int]:
    """The values of a hidden count that the publication allows, if everything else is known.

    With `enough`, the search ends when that many are found. The nearest values are tried first.
    """
    text, own = world.publish() if text is None else text, world.count(cell)
    found = {own}
    for order in range(tries):
        for number in sorted(set(range(world.min_cell)) - found, key=lambda number: abs(number - own)):
            if any(same_publication(other, text) for other in world.with_count(cell, number, order)):
                found.add(number)
            if enough is not None and len(found) >= enough:
                return found
        if len(found) >= ENOUGH:
            break
    return found
