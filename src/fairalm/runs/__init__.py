"""What the commands of ``fairalm`` do, callable from Python.

>>> from fairalm.runs import Settings, Source, run
>>> done = run(Source("german"), Settings(constraint="equal-opportunity", tol=0.05))
>>> print(done.plain.measures["error"], "->", done.fair.measures["error"])
28.3 % [23.5, 33.7] -> 27.7 % [22.8, 33.0]
>>> done.save("runs/german")  # doctest: +SKIP
"""

from fairalm.runs.audits import Audit, Predictions, audit
from fairalm.runs.comparison import Comparison, compare
from fairalm.runs.frontier import Choice, FrontierSettings
from fairalm.runs.metrics import metrics_schema
from fairalm.runs.predictions import predict, predict_batches
from fairalm.runs.run import Run, run
from fairalm.runs.samples import Samples
from fairalm.runs.settings import Settings
from fairalm.runs.source import Source

__all__ = [
    "Audit",
    "Choice",
    "Comparison",
    "FrontierSettings",
    "Predictions",
    "Run",
    "Samples",
    "Settings",
    "Source",
    "audit",
    "compare",
    "metrics_schema",
    "predict",
    "predict_batches",
    "run",
]
