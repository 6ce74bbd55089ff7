"""The paper's first table: which labels of CelebA a small net predicts unfairly, and what FairALM does about it."""
