"""A journal of the fits of a game, from which an interrupted game goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from pyspark.errors import AnalysisException
from pyspark.ml.util import DefaultParamsReader
from pyspark.sql import SparkSession

from fairalm.arrays import Array, FloatArray
from fairalm.exceptions import InputError
from fairalm.moments import Moments
from fairalm.outcome import Outcome
from fairalm.shifts import Shifts
from fairalm.spark.fitted import Fitted
from fairalm.spark.signals import FrameSignal, outcome


class Journal:
    """An oracle that writes down each of its answers, and repeats those that are written already.

    A game is determined by the answers of its oracle. So a game that is started again asks the same questions, gets the
    answers written down, and goes on with a fit where the earlier one ended. Everything is written by Spark, so any
    file system that Spark can write to will do; on a cluster it must be one that all machines see.

    Parameters
    ----------
    signal : FrameSignal
        Answers what is not written down.
    path : str
        A folder.
    facts : mapping
        Settings and data; a journal with other ones is refused.
    """

    def __init__(self, signal: FrameSignal, path: str, facts: Mapping[str, Any]) -> None:
        self.signal, self.path = signal, path.rstrip("/")
        self.spark = SparkSession.active()
        self.n_answers = 0
        facts = json.loads(json.dumps(facts))
        found = self._read("facts")
        if found is None:
            self._write("facts", facts)
        elif found != facts:
            other = ", ".join(sorted(key for key in {*found, *facts} if found.get(key) != facts.get(key)))
            raise InputError(
                f"The checkpoint in {path} belongs to another fit (it differs in: {other}). Pass another checkpointDir,"
                " or delete that folder."
            )

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """The answer as it was written down, or a new one."""
        folder = f"fit-{self.n_answers}"
        asked = None if table is None else np.asarray(table, dtype=float)
        entry = self._read(f"{folder}/answer")
        self.n_answers += 1
        if entry is None:
            new = self.signal(table, last)
            self._write_answer(folder, asked, new)
            return new
        if not _is_same(entry["table"], asked):
            raise InputError(
                f"{folder} of the checkpoint in {self.path} answers other weights than those asked for now: delete the"
                " checkpoint to start anew."
            )
        return self._answer(folder, entry)

    @property
    def n_fits(self) -> int:
        """Fits so far, those written down included."""
        return self.n_answers * self.signal.fits_per_answer

    def _answer(self, folder: str, entry: Mapping[str, Any]) -> Outcome:
        signal = self.signal
        model: Any = None
        if np.isfinite(entry["threshold"]):
            model = DefaultParamsReader.loadParamsInstance(f"{self.path}/{folder}/model", self.spark)
        fitted = Fitted(model, signal.target, entry["threshold"])
        shifts = Shifts(np.array(entry["shifts"]), np.array(entry["shifted_wrong"]))
        fit_moments = None
        if entry["fit_mu"] is not None:
            cells = signal.frame.rows.cells
            blocks = () if cells.compared is None else cells.compared.blocks
            means, counts = np.array(entry["fit_mu"]), np.array(entry["fit_counts"])
            fit_moments = Moments(means, counts, signal.frame.rows.total, blocks)
        return outcome(signal.measured, fitted, np.array(entry["wrong"]), shifts, fit_moments)

    def _write_answer(self, folder: str, table: FloatArray | None, new: Outcome) -> None:
        """The model first: an answer is there once it is complete."""
        assert new.wrong is not None
        assert new.shifts is not None
        if new.model.model is not None:
            new.model.model.write().overwrite().save(f"{self.path}/{folder}/model")
        entry = {
            "table": table,
            "threshold": new.model.by,
            "wrong": new.wrong,
            "shifts": new.shifts.by,
            "shifted_wrong": new.shifts.wrong,
            "fit_mu": None if new.fit_moments is None else new.fit_moments.mu,
            "fit_counts": None if new.fit_moments is None else new.fit_moments.counts,
        }
        self._write(f"{folder}/answer", entry)

    def _write(self, name: str, value: Any) -> None:
        text = json.dumps(value, default=np.ndarray.tolist)  # unlike fairalm.files, with infinite thresholds
        frame = self.spark.createDataFrame([(text,)], ["value"])
        frame.coalesce(1).write.mode("overwrite").text(f"{self.path}/{name}")

    def _read(self, name: str) -> Any:
        """None if it was not written, or not to the end."""
        try:
            row = self.spark.read.text(f"{self.path}/{name}").first()
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return None
            raise
        return None if row is None else json.loads(row[0])


def _is_same(known: Any, asked: FloatArray | None) -> bool:
    """Whether two tables of weights are the same, up to rounding on another machine."""
    if known is None or asked is None:
        return known is None and asked is None
    return np.shape(known) == asked.shape and np.allclose(known, asked, rtol=1e-9, atol=1e-12)
