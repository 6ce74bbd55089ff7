"""What an audit says in words: the question, the answer, the tests, and the four-fifths rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.measures import Measure
from fairalm.measures.text import percent, points, with_interval

SIGNIFICANT = 0.05  # p-value after Holm's correction
NO = "Not the same."
FEW = 30  # rows of the reference group; fewer make every ratio rough
RATES = {  # of a comparison: what is done to the people, and what its rate is called
    "selection": ("selected", "share selected (selection rate)"),
    "scoring": ("scored above the median", "share with a score above the median (scoring rate)"),
}
FOUR_FIFTHS = (
    "The four-fifths rule (29 CFR 1607.4(D)): a selection rate under four-fifths of the highest group's is generally"
    " regarded as evidence of adverse impact. A smaller difference may be adverse impact too, where it is significant;"
    " a larger one may not be, where the numbers are small."
)
TOLERANCE = (
    "The tolerance of an audit is 5 points unless --tol says otherwise: a difference of one point cannot be told from"
    " chance with fewer than some twenty thousand people in each group."
)


def question(facts: Mapping[str, Any]) -> str:
    """The question that an audit answers, such as "Are F and M selected at the same rate?"."""
    what = "selection" if facts["selection"] else "scoring"
    tables = list({table["attribute"]: table for table in facts[what]}.values())
    groups = list(tables[0]["groups"])
    if len(tables) == 1 and len(groups) == 2:
        who = " and ".join(groups)
    elif len(tables) == 1:
        who = f"all groups of {tables[0]['attribute']}"
    else:
        who = f"all groups of {listed(list(dict.fromkeys(name for table in tables for name in table['columns'])))}"
    if what == "selection" and facts["labels"]:
        return f"Do {who} get each label of {facts['config']['decision']} equally often?"
    return f"Are {who} {RATES[what][0]} at the same rate?"


def answer(what: str, table: Mapping[str, Any]) -> str:
    """One table in two sentences: whether the rates are the same, and the smallest ratio."""
    ratio, difference, done = table["ratio"], table["difference"], RATES[what][0]
    group = worst_group(table)
    if ratio["value"] is None or group is None:
        return f"Cannot tell: {ratio['note'] or difference['note']}."
    own, reference = table["groups"][group], table["reference"]
    rates = f"{percent(own['rate']['value'])} against {percent(table['groups'][reference]['rate']['value'])}"
    against, least = own["against"], "Least of all groups, " if len(table["groups"]) > 2 else ""
    times = with_interval(against["ratio"], against["ratio_low"], against["ratio_high"], 2, unit="", scale=1)
    said = f"{least}{group} are {done} at {times} times the rate of {reference} ({rates})"
    by_chance = f"a difference this large by chance: {chance(against['p_holm'])}"
    return f"{lead(table)} {said}; {by_chance}. {ratio_sentence(table)}"


def lead(table: Mapping[str, Any]) -> str:
    """The first word of the answer."""
    if any(is_significant(group) for group in table["groups"].values()):
        return NO
    if table["difference"]["verdict"] == "met":
        return f"The same within {points(table['difference']['limit'])}."
    return "Cannot tell."


def ratio_sentence(table: Mapping[str, Any]) -> str:
    """The smallest ratio against four-fifths."""
    ratio = table["ratio"]
    if ratio["value"] is None:
        return ""
    is_chosen = len(table["judged"]) > 2  # the smallest of several ratios needs a wider interval
    interval = "the interval of the smallest ratio of all groups" if is_chosen else "the interval"
    if ratio["value"] < ratio["limit"]:
        says = "That is under four-fifths, which is generally regarded as evidence of adverse impact"
        return f"{says}." if ratio["verdict"] == "not met" else f"{says}; {interval} reaches above it."
    if ratio["verdict"] == "met":
        return f"That is above four-fifths, and so is {interval}."
    return f"That is above four-fifths, but {interval} reaches below it."


def verdict_line(measure: Mapping[str, Any], kind: str) -> str:
    """The smallest ratio or the largest difference, its interval, its limit and the verdict."""
    if measure["value"] is None:
        return f"{kind}: {measure['note']}."
    if kind == "Smallest ratio":
        text = with_interval(measure["value"], measure["low"], measure["high"], 2, unit="", scale=1)
        return f"{kind}: {text} against four-fifths, 0.8: {measure['verdict']}."
    shown = Measure("", *(measure[name] for name in ("value", "low", "high", "n", "n_min")))
    return f"{kind}: {shown} against {points(measure['limit'])}: {measure['verdict']}."


def test_words(against: Mapping[str, Any] | None) -> list[str]:
    """A test in words: how many standard deviations, and how often a difference as large comes by chance."""
    if against is None or against["p_holm"] is None:
        return ["", ""]
    number = f"{abs(against['z']):.1f}"
    return [f"{number} standard deviation{'s' * (number != '1.0')}", f"by chance: {chance(against['p_holm'])}"]


def chance(p: float) -> str:
    """A p-value as a number of cases.

    >>> chance(0.005), chance(0.12), chance(1e-9), chance(0.7)
    ('5 in 1,000', '12 in 100', 'under 1 in a million', 'over 1 in 2')
    """
    if p > 0.5:
        return "over 1 in 2"
    for cases in (100, 1000, 10_000, 100_000, 1_000_000):
        if (count := round(p * cases)) >= 1:
            return f"{count} in {cases:,}"
    return "under 1 in a million"


def is_significant(group: Mapping[str, Any]) -> bool:
    """Whether a group's rate differs from the reference's by more than chance, after the correction."""
    p = (group["against"] or {}).get("p_holm")
    return p is not None and p < SIGNIFICANT


def worst_group(table: Mapping[str, Any]) -> str | None:
    """The group with the smallest ratio to the reference, of those that are judged; None if there is no ratio."""
    groups = {name: group for name, group in table["groups"].items() if name in table["judged"]}
    ratios = {name: (group["against"] or {}).get("ratio") for name, group in groups.items()}
    defined: dict[str, float] = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    return min(defined, key=lambda name: defined[name], default=None)


def reference_sentence(table: Mapping[str, Any], min_cell: int = 1) -> str:
    """Which group is the reference, and which groups are too small for the verdicts; no number under `min_cell`."""
    name, small = table["reference"], [group for group in table["groups"] if group not in table["judged"]]
    said = f"Compared with {name}" + ("." if table["reference_is"] == "given" else f", the {table['reference_is']}.")
    if min_cell <= (n := table["groups"][name]["n"]) < FEW:
        said += f" It has only {n}: name another group with --reference for a firmer comparison."
    if small:
        said += f" Too small for the verdicts, under 2 % of the rows: {', '.join(small)}."
    return said


def unknown_sentence(what: str, table: Mapping[str, Any], rows_are: str) -> str:
    """How many rows have no value; "" if all have one."""
    unknown = table["unknown"]
    if not unknown["n"]:
        return ""
    done = "" if "label" in table else f", {percent(unknown['rate'])} of them {RATES[what][0]}"
    return f"Unknown: {unknown['n']:,} {rows_are} without a value of {table['attribute']}{done}; they are in no ratio."


def selected_sentence(config: Mapping[str, Any]) -> str:
    """What selected means, or that each label counts against the others."""
    if config["positive"] is None:
        return f"Each label of {config['decision']} counts against all others."
    guess = " (a guess: the larger of the two values)" if config["positive_is"] == "guessed" else ""
    return f"Selected means {config['decision']} = {config['positive']}{guess}."


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "sex, race and age"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
