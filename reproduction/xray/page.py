"""The nets of tuberculosis as a run that :mod:`fairalm.report` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.datasets.images import load_xray
from reproduction import old_page as page
from reproduction.xray.settings import HOSPITAL, PLAIN, TEST
from reproduction.xray.summary import label


def as_run(results: Sequence[Mapping[str, Any]], command: str, data_dir: str | None = None) -> dict[str, Any] | None:
    """A model per rule and seed, with its profile on the test pictures; None if no cell keeps what a page needs.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`reproduction.xray.cell.run_cell` gives them.
    command : str
        As typed.
    data_dir : str, optional
        Where the data is.
    """
    models = [_model(result) for result in results if result["config"]["rule"] != HOSPITAL]
    data = load_xray(data_dir, size=results[0]["config"]["size"])
    return page.as_run("xray", data, models, command, image_column="file", test_size=TEST)


def _model(result: Mapping[str, Any]) -> dict[str, Any]:
    config, profile = result["config"], result["profile"]
    return page.model(
        label(config),
        page.PLAIN if config["rule"] == PLAIN else page.OURS,
        result.get("entry"),
        seed=config["seed"],
        seconds=result.get("seconds"),
        settings={"net": "resnet18", **{name: config[name] for name in ("eta", "epochs", "batch_size", "lr", "size")}},
        history={"error": profile["test_error"], "gap": profile["test_deo"]},
    )
