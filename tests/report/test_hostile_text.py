"""Names that are written to break out of the card and the page; tests/cli/test_hostile_text.py has the console."""

import json
import re

import pytest
from markdown_it import MarkdownIt

from fairalm.report.card import model_card
from fairalm.report.facts import gather
from fairalm.report.page import page
from tests.report.conftest import call, make_table

ATTACKS = [
    "a|b||c",
    "`code` ``x",
    "line\nbreak\r\n\n# head",
    "<script>alert(1)</script>",
    "![i](http://evil.example/i.png)",
    "https://evil.example www.evil.example me@evil.example",
    "\x1b[31mred\x1b]0;title\x07",
    "a\u2028b\u202ec\x85d",
]


@pytest.fixture(scope="module")
def hostile(folder):
    """A run whose every name that a user chooses is an attack."""
    column = "sex|`<i>\n\n# x"
    file = make_table(folder / "hostile|`<b>.csv", ATTACKS, 8000, column=column)
    call("train", file, "--target", "hired", "--protected", column, "-o", folder / "hostile")
    return folder / "hostile"


def tokens(text):
    """What a reader of Markdown makes of a card, its metadata aside."""
    body = text.split("---\n", 2)[2] if text.startswith("---\n") else text
    found = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(body)
    return [*found, *(child for token in found for child in token.children or ())]


def assert_is_tame(text):
    found = tokens(text)
    assert {token.type for token in found} & {"html_block", "html_inline", "link_open", "image"} == set()
    assert [token.content for place, token in enumerate(found) if found[place - 1].type == "heading_open"][1:] == [
        "Fairness",
        "Data",
        "Limits",
        "How it was made",
    ]
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    linked = "".join(token.content for token in found if token.type == "inline" and "`" not in token.content)
    assert not re.search(r"(?<!\\)(://|(?<=www)\.|@)", linked)  # GitHub makes links of them


def rows(text):
    """The cells of the tables, by row."""
    return [line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("| ")]


def test_a_card_of_hostile_names(hostile):
    text = call("card", hostile)
    assert_is_tame(text)
    assert len(rows(text)) == 3 * (2 + len(ATTACKS))
    assert len(set(rows(text))) <= 3
    assert "a\\|b\\|\\|c" in text


def test_a_card_of_a_hostile_file(trained):
    """A metrics.json by somebody else: its versions, commands and constraint are texts too."""
    pytest.importorskip("huggingface_hub")
    for attack in ATTACKS:
        metrics = json.loads((trained / "metrics.json").read_text())
        metrics["versions"] = {attack: attack}
        metrics["command"] = attack
        metrics["config"]["rows_are"] = attack
        metrics["data"]["fingerprint"] = attack
        metrics["data"]["name"] = attack
        metrics["training"]["warnings"] = [attack]
        metrics["constraint"]["name"] = attack
        for entry in (metrics["splits"], metrics["plain"]["splits"]):
            for part in entry.values():
                for group in part["groups"].values():
                    group["rates"][attack] = group["rates"]["tpr"]
        metrics["constraint"]["definitions"] = {attack: [["tp"], ["tp", "fn"]]}
        assert_is_tame(model_card(gather([metrics])))


def test_facts_cannot_end_their_script(hostile, nasty):
    for run in (hostile, nasty):
        text = page(gather([run]))
        assert text.count("<script") == 4
        assert text.count("</script") == 4
        assert "alert(1)</" not in text
