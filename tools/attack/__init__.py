"""Attacks on fairalm: processes killed, disks filled, files damaged, small counts guessed.

    python -m tools.attack                    # a short version of every attack, in a few minutes
    python -m tools.attack --full             # the one behind docs/reference/reliability.md
    python -m tools.attack --only kills       # one attack
    python -m tools.attack --write docs/reference/reliability.md   # put the recorded results into the page

Each attack is a module of this package with a function ``attack(full, seed)`` that yields a :class:`~.outcome.Outcome`
per row of the table. Results are kept in ``build/attack/``, one file per attack, so that the table can be put together
from attacks that ran one after the other.
"""
