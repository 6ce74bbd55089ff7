"""Runs as the commands write them, and a real browser."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from fairalm.cli import app

NASTY = ['"><b>x</b>', 'd\'Arc & "co"', "אבג", "😀\u2028</script><!--"]


A4 = {"width": 688, "height": 1000}  # between the margins of the printed page, in pixels
CUT = """[...document.querySelectorAll(".arrows td, .arrows th")]
    .filter((cell) => cell.clientWidth && cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent)"""
WIDTHS = """[...document.querySelectorAll("svg.arrow")].map((picture) => picture.getBoundingClientRect().width)"""


def assert_fits_in_print(page):
    """No figure in a table of arrows is cut, and each picture is wide enough to be read."""
    page.set_viewport_size(A4)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(CUT) == []
    assert min(width for width in page.evaluate(WIDTHS) if width) > 80


def call(*args):
    with threadpool_limits(1):
        result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output
    return result.stdout


def make_table(path, names, n, column="sex", seed=0):
    """A made-up table whose groups differ in a skill that decides."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, len(names), n)
    skill, town = rng.normal(size=n), 2 * code / len(names) + rng.normal(size=n)
    hired = np.where(skill + 0.4 * town + rng.normal(size=n) > 0.3, "yes", "no")
    columns = {"skill": skill.round(3), "town": town.round(3), column: np.array(names, dtype=object)[code]}
    frame = pd.DataFrame({**columns, "hired": hired})
    frame.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)  # a name may have line breaks
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def table(folder):
    return make_table(folder / "people.csv", ["F", "M"], 4000)


@pytest.fixture(scope="session")
def trained(folder, table):
    """A run whose every cell is large enough to be shown."""
    call("train", table, "--target", "hired", "--protected", "sex", "-o", folder / "trained")
    return folder / "trained"


@pytest.fixture(scope="session")
def frontier(folder, table):
    """A run that has a curve."""
    call("frontier", table, "--target", "hired", "--protected", "sex", "--tol", "0.05", "-o", folder / "frontier")
    return folder / "frontier"


@pytest.fixture(scope="session")
def compared(folder, table):
    args = ("--target", "hired", "--protected", "sex", "--seeds", 2, "--methods", "secant,augmented,reweight")
    call("compare", table, *args, "-o", folder / "compared.json")
    return folder / "compared.json"


@pytest.fixture(scope="session")
def many(folder, compared):
    """Two hundred models, by repeating those of a few splits."""
    metrics = json.loads(compared.read_text())
    runs = metrics["runs"]
    metrics["runs"] = [{**runs[i % len(runs)], "seed": i // len(runs)} for i in range(200)]
    (folder / "many.json").write_text(json.dumps(metrics))
    return folder / "many.json"


@pytest.fixture(scope="session")
def nasty(folder):
    """A run on a table whose names are an attack."""
    column = "<script>alert(1)</script>"
    file = make_table(folder / "nasty.csv", NASTY, 3000, column=column)
    call("train", file, "--target", "hired", "--protected", column, "-o", folder / "nasty")
    return folder / "nasty"


@pytest.fixture(scope="session")
def many_groups(folder):
    """A run with thirteen groups and a constraint on two rates."""
    file = make_table(folder / "many.csv", [f"group number {i}" for i in range(13)], 6000)
    options = ("--target", "hired", "--protected", "sex", "--constraint", "equalized-odds", "--tol", "0.1")
    call("train", file, *options, "-o", folder / "many-groups")
    return folder / "many-groups"


@pytest.fixture(scope="session")
def apart(folder, table):
    """A run with two attributes, each compared on its own; one has a small group. Its predictions are audited."""
    people = pd.read_csv(table)
    race = np.random.default_rng(1).choice(["x", "y", "z"], len(people), p=[0.6, 0.25, 0.15])
    people.assign(race=race).to_csv(folder / "apart.csv", index=False)
    columns = ("--target", "hired", "--protected", "sex", "--protected", "race", "--attributes", "separate")
    call("train", folder / "apart.csv", *columns, "-o", folder / "apart")
    call("predict", folder / "apart", folder / "apart.csv", "-o", folder / "apart-predicted.csv")
    call(
        "audit",
        folder / "apart-predicted.csv",
        *columns,
        "--decision",
        "prediction",
        "-o",
        folder / "apart-audit",
    )
    return folder / "apart"


@pytest.fixture
def show(browser, tmp_path):
    """Write a page and open it with the network off; any word on the console is an error."""
    from fairalm.report.facts import gather
    from fairalm.report.page import write_page

    messages, contexts = [], []

    def call(*runs, width=1000, scheme="light", **options):
        file = tmp_path / f"{len(contexts)}.html"
        write_page(file, gather(runs, **options))
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)  # the machine may be busy
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: (messages.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:")) else messages.append(request.url),
        )
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield call
    for context in contexts:
        context.close()
    assert messages == []
