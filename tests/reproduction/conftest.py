"""What the tests of the commands that end with a page share."""

import json
import re

import pytest

from fairalm.measures import Measure
from fairalm.report.words import verdict


@pytest.fixture
def page_facts():
    """The facts in a page, whose verdict must be that of a cell's figure of the criterion."""

    def read(path, gap):
        text = path.read_text(encoding="utf-8")
        assert len(text) < 3_000_000
        facts = json.loads(re.search(r'id="facts">(.*?)</script>', text, re.DOTALL)[1])
        name = facts["criterion"]["key"]
        assert facts["verdict"]["outcome"] == verdict(Measure(name, **gap), facts["criterion"]["tol"])
        return facts

    return read


@pytest.fixture
def forget():
    """Take out of a kept cell what older versions did not keep."""

    def strip(value):
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if key not in ("entry", "entries")}
        return [strip(item) for item in value] if isinstance(value, list) else value

    def rewrite(*paths):
        for path in paths:
            path.write_text(json.dumps(strip(json.loads(path.read_text()))))

    return rewrite
