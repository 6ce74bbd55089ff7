"""What the tests of the experiments share."""

import json
import re
from types import SimpleNamespace

import pytest
from threadpoolctl import threadpool_limits

from fairalm.measures import Measure
from fairalm.runs.metrics import verdict
from reproduction.command import main


@pytest.fixture(autouse=True)
def one_thread():
    """Workers side by side must not fight over the cores with threads of their own."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run ``python -m reproduction ...`` in an empty folder; its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # output stays within 80 all the same

    def call(*arguments):
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
        return SimpleNamespace(code=code, **capsys.readouterr()._asdict())

    return call


@pytest.fixture
def page_facts():
    """The facts in a page, whose verdict must be that of a given measure of the constraint."""

    def read(path, gap):
        text = path.read_text(encoding="utf-8")
        assert len(text) < 3_000_000
        facts = json.loads(re.search(r'id="facts">(.*?)</script>', text, re.DOTALL)[1])
        name = facts["constraint"]["key"]
        if facts["rounded_to"] is None:
            assert facts["verdict"]["outcome"] == verdict(Measure(name, **gap), facts["constraint"]["tol"])
        return facts

    return read


@pytest.fixture
def forget():
    """Take the entries for the page out of kept cells; goes with the last of the old commands."""

    def strip(value):
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if key not in ("entry", "entries")}
        return [strip(item) for item in value] if isinstance(value, list) else value

    def rewrite(*paths):
        for path in paths:
            path.write_text(json.dumps(strip(json.loads(path.read_text()))))

    return rewrite
