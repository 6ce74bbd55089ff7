"""German: who was a good credit risk."""

from __future__ import annotations

import os

import pandas as pd

from fairalm.datasets._dataset import Dataset
from fairalm.datasets._files import DataDir, find, read_official, read_shipped, typed
from fairalm.exceptions import InputError

# the columns of the file in their order; those with codes say what each code stands for, the others are numbers
DOCUMENTED = """\
checking_account: A11 below 0 DM, A12 0 to 200 DM, A13 200 DM or more, A14 none
months
credit_history: A30 no credits, A31 all paid here, A32 paid so far, A33 delays, A34 critical
purpose: A40 new car, A41 used car, A42 furniture, A43 radio or tv, A44 appliances, A45 repairs,
    A46 education, A47 vacation, A48 retraining, A49 business, A410 other
amount
savings: A61 below 100 DM, A62 100 to 500 DM, A63 500 to 1000 DM, A64 1000 DM or more, A65 none or unknown
employment: A71 unemployed, A72 below 1 year, A73 1 to 4 years, A74 4 to 7 years, A75 7 years or more
installment_rate
personal_status: A91 male divorced, A92 female not single, A93 male single, A94 male married,
    A95 female single
other_debtors: A101 none, A102 co-applicant, A103 guarantor
residence
property: A121 real estate, A122 savings or insurance, A123 car or other, A124 none or unknown
age
other_installments: A141 bank, A142 stores, A143 none
housing: A151 rent, A152 own, A153 free
credits
job: A171 unskilled non-resident, A172 unskilled, A173 skilled, A174 highly qualified
dependents
telephone: A191 no, A192 yes
foreign_worker: A201 yes, A202 no
credit: 1 good, 2 bad
"""


def _columns() -> dict[str, dict[str, str] | None]:
    columns: dict[str, dict[str, str] | None] = {}
    for line in DOCUMENTED.replace("\n    ", " ").splitlines():
        name, _, codes = line.partition(": ")
        columns[name] = dict(code.split(" ", 1) for code in codes.split(", ")) if codes else None
    return columns


COLUMNS = _columns()
NUMBERS = tuple(column for column, codes in COLUMNS.items() if codes is None)
FEATURES = tuple(column for column in COLUMNS if column not in ("foreign_worker", "credit"))
DESCRIPTION = (
    "The label says that a bank customer turned out a good credit risk. By Hans Hofmann, University of"
    " Hamburg; Statlog (German Credit Data), UCI Machine Learning Repository, CC BY 4.0."
)


def load_german(data_dir: DataDir = None) -> Dataset:
    """Load German: which of 1,000 bank customers were a good credit risk.

    70.0 % were (label ``credit``, positive ``"good"``). Protected is ``foreign_worker``: 963 "yes" of whom
    69.3 %, and 37 "no" of whom 89.2 % are positive. With 37 people, of whom 4 are a bad risk, no measure on
    the small group is precise.

    The codes of the file (A11, ...) are turned into words, as its documentation explains them. A later study
    of the sources (Grömping 2019, "South German Credit Data") reports that several of these explanations are
    wrong; ``personal_status`` does not tell the sex, and this column may be read the other way round. They are
    kept as published, as other papers use them. Nothing is left out and nothing is missing.

    Parameters
    ----------
    data_dir : path, optional
        As in :func:`load_adult`; the official file is german.data.

    Examples
    --------
    >>> data = load_german()
    >>> data.X.shape, float(data.y.mean())
    ((1000, 19), 0.7)
    >>> data.groups.value_counts().to_dict()
    {'yes': 963, 'no': 37}
    """
    text = read_shipped("german") if data_dir is None else read_raw(data_dir)
    return Dataset("german", typed(text, NUMBERS), "credit", "good", ("foreign_worker",), FEATURES, DESCRIPTION)


def read_raw(data_dir: str | os.PathLike[str]) -> pd.DataFrame:
    """All columns, as text, with the codes turned into words."""
    file = find(data_dir, "german.data")
    frame = read_official(file, tuple(COLUMNS), header=False, sep=r"\s+")
    for column, codes in COLUMNS.items():
        if codes is not None:
            frame[column] = frame[column].map(codes)
    if frame.isna().to_numpy().any():
        raise InputError(f"{file} is not the official file: it holds codes that are not documented.")
    return frame
