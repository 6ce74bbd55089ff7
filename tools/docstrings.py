"""Docstrings as the site shows them: doctests become blocks of code, and Sphinx roles plain code."""

import re

import griffe

DOCTEST = re.compile(r"^>>> .*\n(?:.*\S.*\n?)*", re.MULTILINE)
ROLE = re.compile(r":(?:func|class|meth|mod|attr):`~?([^`]+)`")


class Readable(griffe.Extension):
    """Rewrite every docstring before it is parsed."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: object) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value + "\n")
            obj.docstring.value = DOCTEST.sub(lambda found: f"```pycon\n{found[0]}```\n", text).rstrip()
