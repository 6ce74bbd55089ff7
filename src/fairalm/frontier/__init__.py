"""One model of who has which label and group answers every constraint: rates, limits, the program and its rules."""
