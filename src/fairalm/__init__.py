"""fairalm: fair models with an augmented Lagrangian.

Name the protected attribute, keep your model, and get one model that meets the criterion, with numbers
you can defend.
"""

__version__ = "0.1.0.dev0"
