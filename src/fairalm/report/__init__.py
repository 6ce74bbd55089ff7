"""One self-contained page about runs, a model card, and figures, all from the same facts."""
