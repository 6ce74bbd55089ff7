"""The frontier of more than two labels: each of them against the rest, one prediction for each row."""
