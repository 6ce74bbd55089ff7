"""The paper's tables, figures and claims, each made again by running."""
