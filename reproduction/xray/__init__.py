"""The paper's experiment on X-rays of two hospitals, where it says that a fair net generalises better."""
