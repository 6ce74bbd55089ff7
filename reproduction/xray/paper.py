"""What the paper says of this experiment; it prints no numbers, only box plots and a curve."""

from __future__ import annotations

WHERE = 'section "Chest X-Ray datasets" and its figure "Better Generalization with FairALM"'
REACHED = 0.2  # "FairALM reaches 20% testset error in fewer epochs"
#: What is lower with FairALM than without, by the paper.
CLAIMS = ("mean error", "variance of error", "mean DEO", "variance of DEO", "epochs to 20 % error")
