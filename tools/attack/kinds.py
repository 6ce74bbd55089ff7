"""The kinds of input that are altered, each with how many are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.attack import kinds_runs as runs
from tools.attack import kinds_tables as tables
from tools.attack.case import Case
from tools.attack.kinds_arguments import arguments


@dataclass(frozen=True)
class Kind:
    """A kind of input: the function that draws and tries one, and how often the long version does."""

    function: Callable[[Case], None]
    full: int
    text: str


KINDS = {
    "csv": Kind(tables.csv, 26_000, ".csv tables, read"),
    "csv-gz": Kind(tables.csv_gz, 6_000, ".csv.gz tables, read"),
    "parquet": Kind(tables.parquet, 12_000, ".parquet tables, read"),
    "audit-table": Kind(tables.audit_table, 4_000, "tables, audit"),
    "predict-table": Kind(tables.predict_table, 4_000, "tables, predict"),
    "train-table": Kind(tables.train_table, 1_000, "tables, train, frontier, lda, compare"),
    "image": Kind(tables.image, 10_000, "image files"),
    "image-table": Kind(tables.image_table, 2_000, "tables of images"),
    "metrics-json": Kind(runs.metrics_json, 4_000, "metrics.json"),
    "compare-json": Kind(runs.compare_json, 1_500, "compare's .json, cam.json"),
    "config-json": Kind(runs.config_json, 3_000, "config.json"),
    "lda-json": Kind(runs.lda_json, 1_500, "lda.json"),
    "audit-json": Kind(runs.audit_json, 1_000, "audit.json"),
    "manifest-json": Kind(runs.manifest_json, 4_000, "manifest.json"),
    "settings-json": Kind(runs.settings_json, 3_000, "settings.json"),
    "history-json": Kind(runs.history_json, 1_500, "history.json"),
    "model-schema": Kind(runs.model_schema, 4_000, "schema of model.skops"),
    "model-skops": Kind(runs.model_skops, 2_000, "other parts of model.skops"),
    "model-pt": Kind(runs.model_pt, 2_500, "model.pt"),
    "checkpoint": Kind(runs.checkpoint, 1_000, "checkpoints"),
    "image-cache": Kind(runs.image_cache, 1_500, "cache of images"),
    "feature-cache": Kind(runs.feature_cache, 1_500, "cache of features"),
    "arguments": Kind(arguments, 4_000, "argument lists"),
}
