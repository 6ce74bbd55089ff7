"""What is trained and how, the same for every net."""

from __future__ import annotations

PLAIN, PAPERS, OURS = "unconstrained", "fairalm", "pi-control"  # the rules: none, Algorithm 2, the library's default
HOSPITAL = "hospital"  # a net that tells the hospital, for heat maps
ETA = 1.0  # of the paper's rule; chosen on held-out pictures of other seeds
EPOCHS, SIZE = 8, 64
TEST = 0.25  # of the pictures, as in the paper
BATCH_SIZE, RATE = 32, 3e-4
