"""Nets for images, their training under a constraint, and heat maps of what they look at. Needs the extra `vision`."""
