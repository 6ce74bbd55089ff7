"""What the commands of ``fairalm`` do, callable from Python.

>>> from fairalm.runs import Settings, Source, run
>>> done = run(Source("german"), Settings(constraint="equal-opportunity", tol=0.05))
>>> print(done.plain.measures["error"], "->", done.fair.measures["error"])
28.3 % [23.5, 33.7] -> 27.7 % [22.8, 33.0]
>>> done.save("runs/german")  # doctest: +SKIP
"""

from fairalm.runs.audits import Audit, audit, audit_schema
from fairalm.runs.comparison import Comparison, compare
from fairalm.runs.decisions import Decisions
from fairalm.runs.frontier import Choice, FrontierSettings
from fairalm.runs.lda import lda
from fairalm.runs.lda_result import Lda
from fairalm.runs.lda_settings import LdaSettings, LdaSource
from fairalm.runs.ll144 import BiasAudit, LocalLaw144, ll144
from fairalm.runs.metrics import metrics_schema
from fairalm.runs.predictions import predict, predict_batches
from fairalm.runs.run import Run, run
from fairalm.runs.samples import Samples
from fairalm.runs.settings import Settings
from fairalm.runs.source import Source

__all__ = [
    "Audit",
    "BiasAudit",
    "Choice",
    "Comparison",
    "Decisions",
    "FrontierSettings",
    "Lda",
    "LdaSettings",
    "LdaSource",
    "LocalLaw144",
    "Run",
    "Samples",
    "Settings",
    "Source",
    "audit",
    "audit_schema",
    "compare",
    "lda",
    "ll144",
    "metrics_schema",
    "predict",
    "predict_batches",
    "run",
]
