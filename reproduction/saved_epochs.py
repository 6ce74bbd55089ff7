"""How far the training of a net has come: a file that is written after each epoch, so that a killed job continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from fairalm.exceptions import InputError
from fairalm.files import to_json, write_atomic
from fairalm.nn.checkpoint import load_tensors, to_bytes


@dataclass(frozen=True)
class SavedEpochs:
    """The finished epochs of one job; without a path, nothing is kept."""

    path: Path | None
    config: Mapping[str, Any]  # of the job: a file of another one is refused
    parts: Sequence[Any]  # net, optimizer, ...: what has a ``state_dict``
    generator: torch.Generator  # of the order of the samples

    def load(self) -> pd.DataFrame:
        """The history so far, empty at the first start; the parts continue after its last epoch."""
        if self.path is None or not self.path.is_file():
            return pd.DataFrame()
        saved = load_tensors(self.path, "the epochs of a job")
        if saved["config"] != to_json(self.config):
            raise InputError(f"{self.path} was made with other settings: choose another folder for these.")
        for part, state in zip(self.parts, saved["parts"], strict=True):
            part.load_state_dict(state)
        self.generator.set_state(saved["generator"])
        return pd.DataFrame(saved["history"])

    def save(self, history: pd.DataFrame) -> None:
        """Replace the file by one that includes the last epoch."""
        if self.path is not None:
            content = {"config": to_json(self.config), "history": history.to_dict("list")}
            content |= {"parts": [part.state_dict() for part in self.parts], "generator": self.generator.get_state()}
            write_atomic(self.path, to_bytes(content))

    def remove(self) -> None:
        """Remove the file, when the job's result is complete."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
