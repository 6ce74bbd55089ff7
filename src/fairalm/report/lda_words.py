"""A search for less discriminatory alternatives in words, from its lda.json: for the page and the console."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fairalm.measures.text import percent, points, with_interval

Content = Mapping[str, Any]  # of lda.json
Figure = Mapping[str, Any]  # a measure in it
FREE = 5e-5  # a rise of the bad rate that rounds to nothing
OF = "ratio of "  # the name of a group's ratio begins with this
MEASURES = {"bad_rate": "bad rate", "acceptance": "accepted", "auc": "AUC", "ks": "KS"}  # in tables
VERDICTS = {
    "found": "A less discriminatory alternative was found.",
    "not confirmed": "No less discriminatory alternative was confirmed: one was chosen, but on the rows kept to judge"
    " it does not surely hold up.",
    "none": "No less discriminatory alternative was found.",
}


def question(content: Content) -> str:
    """What was asked."""
    config = content["config"]
    return f"Is there a less discriminatory alternative? {content['data']['name']}, by {', '.join(config['protected'])}"


def measures_of(content: Content) -> list[str]:
    """The measures of the table, in order."""
    own = content["splits"]["judge"]["baseline"]
    return [*(name for name in own if name.startswith(OF)), *(name for name in MEASURES if name in own)]


def measure_name(name: str) -> str:
    """A measure as it stands in a table."""
    return MEASURES.get(name, name.removeprefix(OF))


def figure_text(measure: Figure | None, name: str) -> str:
    """A figure with its interval: "5.4 % [5.1, 5.6]" or, of a ratio, AUC or KS, "0.82 [0.79, 0.84]"."""
    is_share = name in ("acceptance", "bad_rate")
    return _text(measure, **({"digits": 1} if is_share else {"digits": 2, "unit": "", "scale": 1}))


def change_text(measure: Figure | None, name: str) -> str:
    """A change with its interval: of a ratio "+0.05 [+0.03, +0.07]", of a share, in points, "+0.2 [-0.1, +0.4]"."""
    return _text(measure, digits=2, unit="", sign="+", scale=1 if name.startswith("ratio") else 100)


def _text(measure: Figure | None, **how: Any) -> str:
    if measure is None:
        return ""
    if measure["value"] is None:
        return str(measure["note"])
    return with_interval(measure["value"], measure["low"], measure["high"], **how)


def verdict_line(content: Content) -> str:
    """The answer in one sentence."""
    return VERDICTS[content["verdict"]]


def answers(content: Content) -> list[tuple[str, str]]:
    """What the judging rows say: questions a reader has, each with its answer."""
    config, judged = content["config"], content["splits"]["judge"]
    group, reference, margin = content["group"], config["reference"], points(config["margin"])
    before, after, changes = judged["baseline"], judged.get("chosen"), content["changes"]
    where, key = f"On {content['data']['judge']:,} rows that the search had not seen", f"{OF}{group}"
    old_ratio, old_bad = figure_text(before[key], key), figure_text(before["bad_rate"], "bad_rate")
    worse = f"{where}, the baseline accepts {group} {old_ratio} times as often as {reference}."
    if after is None or changes is None:
        return [
            ("Who is worse off?", worse),
            (
                "What was looked for?",
                f"A ratio surely better than the baseline's, at a bad rate among the accepted surely at most {margin}"
                f" higher. {_tried(content)} None had both: {_why_not(content)}.",
            ),
            ("What does the baseline cost?", f"Of those it accepts, {old_bad} are bad."),
        ]
    ratio, bad = figure_text(after[key], key), figure_text(after["bad_rate"], "bad_rate")
    is_better, is_within = (changes[key]["low"] or 0) > 0, changes["bad_rate"]["high"] <= config["margin"]
    return [
        ("Who is worse off?", worse),
        (
            "What does the alternative change?",
            f"It accepts {group} {ratio} times as often as {reference}: a change of {change_text(changes[key], key)},"
            f" {'which is more than chance' if is_better else 'which may be chance'}. {_goal(content)}",
        ),
        (
            "What does it cost?",
            f"Of those it accepts {bad} are bad, of those the baseline accepts {old_bad}: a change of"
            f" {change_text(changes['bad_rate'], 'bad_rate')} points, {'within' if is_within else 'not surely within'}"
            f" the margin of {margin} stated in advance. Both accept about {percent(content['acceptance'], 0)}.",
        ),
        (f"May it be used without {' and '.join(config['protected'])}?", _use(config)),
    ]


def _use(config: Mapping[str, Any]) -> str:
    if config["with_protected"]:
        return "No: the models see it, so it must be known of everyone they decide on."
    return (
        "Yes, it is not needed to decide. But the rule estimates it from the features and weighs the estimate: ask"
        " counsel whether that is allowed where you lend."
    )


def _goal(content: Content) -> str:
    config, after = content["config"], content["splits"]["judge"]["chosen"]
    text, goal = figure_text(after["ratio"], "ratio"), f"{config['ratio']:g}"
    said = {
        "met": f"so the goal of {goal} is met, chance allowed for",
        "not met": f"so the goal of {goal} is not met",
        "cannot tell": f"so on other rows it may lie on either side of the goal of {goal}",
        "undefined": "so the goal cannot be judged",
    }[content["goal"]]
    return f"The lowest ratio of any group is {text}, {said}."


def _tried(content: Content) -> str:
    n = len(content["splits"]["choose"]) - 1
    return f"{n} model{'s' * (n != 1)} {'were' if n != 1 else 'was'} tried beside the baseline ({content['baseline']})."


def _why_not(content: Content) -> str:
    """How many models failed for which reason."""
    reasons = Counter(row["why not"] for row in content["splits"]["choose"] if row["role"] != "baseline")
    return "; ".join(f"{n} because of {why}" for why, n in reasons.most_common())


def meaning(content: Content) -> list[str]:
    """What the search proves, per estimator, and what it does not."""
    config, goal, lines = content["config"], f"{content['config']['ratio']:g}", []
    known = " (of rows with a known group)" if content["data"]["unknown"] else ""
    for proof in content["bounds"]:
        rise = proof["at_ratio"] - proof["no_limit"]
        line = (
            f"{proof['estimator']}: under its estimated probabilities, no rule on these features that accepts as many"
            f" rows{known} with a ratio of at least {goal} for every group has a bad rate below"
            f" {percent(proof['at_ratio'], 2)}; without a limit it is {percent(proof['no_limit'], 2)}."
        )
        if rise < FREE:
            line += " So the ratio costs nothing there."
        elif rise > config["margin"]:
            line += f" The rise of {points(rise)} alone exceeds the margin, so no rule reaches that ratio within it"
            line += f"; up to {proof['within']:g} one might." if proof["within"] is not None else "."
        elif content["verdict"] != "found":
            line += (
                f" The rise of {points(rise)} is within the margin: there may be such rules; more rows could show one."
            )
        lines.append(line)
    lines.append(
        "This holds for every rule on these features, if the estimated probabilities are right. It says nothing about"
        " other features, other data, or a model that knows more than these."
    )
    return lines


def protocol(content: Content) -> list[str]:
    """How the search was made."""
    config, data = content["config"], content["data"]
    unknown = data["unknown"]
    lines = [
        f"{data['fit']:,} rows to fit on, {data['choose']:,} to choose on and {data['judge']:,} to judge on, drawn at"
        f" random alike in label and group (seed {config['seed']}).",
        f"Accepted means predicted {config['target']} = {config['positive']}; bad means the other label. Each model is"
        f" set to accept {percent(content['acceptance'])} of all rows.",
        f"Baseline: {content['baseline']}"
        + ("." if config["incumbent"] else "; of the models without a limit it ranks best (AUC) on the choosing rows."),
        f"Tried: {', '.join(config['estimators'])}, each without a limit and along its frontier of ratios;"
        f" {len(content['splits']['choose'])} models in all, every one in log.csv.",
        "Chosen on the choosing rows, by a rule stated beforehand: the bad rate surely at most"
        f" {points(config['margin'])} above the baseline's and the ratio of the group that the baseline treats worst"
        " surely higher (95 % paired intervals). Of those whose lowest ratio surely reaches"
        f" {config['ratio']:g} (on the choosing rows and, out of fold, the fit rows), the lowest bad rate; if none"
        " does, the highest ratio.",
        "The judging rows were used once, for the baseline and the chosen model only.",
    ]
    if unknown:
        lines.insert(
            1, f"{unknown:,} rows without a known group count for acceptance and bad rate, not for the ratios."
        )
    return lines


def limits() -> list[str]:
    """What a reader must know before using the result."""
    return [
        "Outcomes are known for these rows only. If they are of loans that were granted, the bad rate of rows that"
        " would be newly accepted is that of similar loans that were granted.",
        "The features and the label were taken as given. Another label, or other features, is another search.",
        "AUC and KS are of the score that each model decides by; for a rule of the frontier that includes the estimate"
        " of the group.",
        "Intervals are for these models and this split; another split gives other models.",
    ]
