"""The paper's table of verb pairs, on Waterbirds and on scenes with imSitu's counts, and on imSitu where it is."""
