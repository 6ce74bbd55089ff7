"""``python -m reproduction NAME``: run one experiment."""

from __future__ import annotations

import importlib
import sys

import typer

OLD = ("tabular", "labels", "celeba", "verbs", "xray", "looks", "theory")


def main() -> None:
    """Run the command line."""
    name = sys.argv[1]
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(name)(getattr(importlib.import_module(f"reproduction.{name}.command"), name))
    app(sys.argv[2:], prog_name=f"python -m reproduction {name}")


if __name__ == "__main__":
    main()
