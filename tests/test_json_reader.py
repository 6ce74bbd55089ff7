"""The reader of JSON files: what it refuses, and that each error names file, place and what to do."""

import json

import pytest

from fairalm.exceptions import InputError
from fairalm.json_reader import DEEPEST, parse_json, read_json

DIGEST = "sha256:" + "0" * 64
MADE_FROM = {"versions": {"python": "3.11.7", "fairalm": "0.1.0"}, "data": DIGEST, "split": None, "seed": 0}
MANIFEST = {"format": 1, **MADE_FROM, "settings": DIGEST, "files": {"model.skops": "0" * 64}}


def changed(**parts):
    """A manifest with other parts, or without those that are "left out"."""
    return json.dumps({name: part for name, part in {**MANIFEST, **parts}.items() if part != "left out"}).encode()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "manifest.json"


def test_what_fits_the_schema_is_read(file):
    file.write_text(json.dumps(MANIFEST))
    assert read_json(file, "manifest") == MANIFEST


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'{"format": NaN}', "NaN"),
        (b'{"format": -Infinity}', "-Infinity"),
        (b'{"format": 1e999}', "1e999"),
        (b'{"format": ' + b"9" * 5000 + b"}", "larger than a float"),
        (b'{"format": 1, "format": 1}', "'format' is there twice"),
        (b'\xef\xbb\xbf{"format": 1}', "byte order mark"),
        ('{"format": 1}'.encode("utf-16"), "byte 0 is not UTF-8"),
        (b'{"format": "\xff"}', "byte 12 is not UTF-8"),
        (b"[" * 200_000, f"more than {DEEPEST} levels"),
        (b"[" * 200 + b"]" * 200, f"more than {DEEPEST} levels"),
        (b'{"format": 1,\n "files"', "line 2, column 9"),
        (b"", "line 1, column 1"),
        (b"[]", "at the top level"),
        (changed(files="left out"), "'files' is a required property"),
        (changed(format=2), "at format, 1 was expected"),
        (changed(files={"a.b": 3}), "at files['a.b'], 3 is not of type 'string'"),
    ],
)
def test_what_is_refused(file, content, place):
    file.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_json(file, "manifest", advice="train again")
    message = str(error.value)
    assert message.startswith(f"{file} cannot be used: ")
    assert place in message
    assert message.endswith("; train again.")
    assert len(message.splitlines()) == 1


def test_the_deepest_that_is_allowed():
    assert parse_json(b"[" * DEEPEST + b"]" * DEEPEST)


def test_a_missing_file(file):
    with pytest.raises(InputError, match="There is no file"):
        read_json(file, "manifest")


def test_a_file_that_is_too_large(file, monkeypatch):
    monkeypatch.setattr("fairalm.json_reader.LARGEST", 10)
    file.write_text(json.dumps(MANIFEST))
    with pytest.raises(InputError, match="more than the 10 allowed"):
        read_json(file, "manifest")
