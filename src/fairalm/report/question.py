"""What a page asks, in words: its title."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

#: The rate that is shown for one that is compared, because more people know it.
SHOWN_FOR = {"fnr": "tpr", "tnr": "fpr", "fdr": "ppv"}
_QUESTIONS = {
    ("tpr",): "among {rows} with {label}, does the model find {groups} equally often?",
    ("fpr",): "among {rows} without {label}, does the model wrongly select {groups} equally often?",
    ("tpr", "fpr"): "does the model find {groups} equally often, and select them wrongly equally often?",
    ("selection",): "does the model predict {label} equally often for {groups}?",
    ("error",): "is the model wrong equally often for {groups}?",
    ("ppv",): "among {rows} predicted {label}, is the model right equally often for {groups}?",
}
_OTHER = "does the model treat {groups} alike ({constraint})?"


def question(data: str, rates: Sequence[str], **words: str) -> str:
    """The title; `rates` are those compared, and `words` are rows, label, groups and constraint.

    >>> words = {"rows": "people", "label": "hired = yes", "groups": "Female and Male", "constraint": "mine"}
    >>> question("jobs", ["fnr"], **words)
    'jobs: among people with hired = yes, does the model find Female and Male equally often?'
    """
    asked = _QUESTIONS.get(shown_rates(rates), _OTHER)
    return f"{data}: {re.sub('{([a-z]+)}', lambda mark: words[mark[1]], asked)}"  # a name may have braces


def shown_rates(compared: Sequence[str]) -> tuple[str, ...]:
    """The rates that words and pictures show, for those compared.

    >>> shown_rates(["fnr", "fpr"])
    ('tpr', 'fpr')
    """
    return tuple(dict.fromkeys(SHOWN_FOR.get(rate, rate) for rate in compared))


def groups_in_words(config: Mapping[str, Any], attributes: Sequence[Sequence[str]]) -> str:
    """The groups as part of a sentence: two by name, more by number.

    >>> groups_in_words({"protected": ["sex"]}, [["0", "1"]])
    'sex 0 and sex 1'
    >>> groups_in_words({"protected": ["race", "sex"]}, [["a", "b", "c"]])
    'the 3 groups of race and sex'
    """
    columns = " and ".join(config["protected"])
    if len(attributes) > 1:
        return f"the groups of {' and of '.join(config['protected'])}"
    (groups,) = attributes
    if len(groups) != 2:
        return f"the {len(groups)} groups of {columns}"
    speaks = all(re.search(r"[^\W\d]{2}", name) and name.lower() not in _FLAGS for name in groups)
    return " and ".join(name if speaks else f"{columns} {name}" for name in groups)


_FLAGS = ("true", "false", "yes", "no", "other", "nan")  # values that say nothing without their column
