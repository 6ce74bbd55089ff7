"""Numbers about predictions, each with its interval on data the model was not fitted on."""

from fairalm.measures.binning import bin_scores, merge_bins
from fairalm.measures.changes import Change, Changes, paired_changes
from fairalm.measures.chosen import chosen_measure
from fairalm.measures.counts import Counts, Tally
from fairalm.measures.definitions import MEASURES, definition_of, describe, limit_of
from fairalm.measures.entry import rates_entry, splits_entry
from fairalm.measures.gaps import (
    ddp,
    deo,
    deo_ratio,
    dp_ratio,
    equalized_odds,
    equalized_odds_ratio,
    error,
    error_parity,
    fpr_gap,
    measure_all,
    measure_of,
    measures_of,
    predictive_parity,
)
from fairalm.measures.intervals import (
    difference_interval,
    quotient_interval,
    range_interval,
    rate_interval,
    ratio_interval,
)
from fairalm.measures.labels import LabelRates, label_rates
from fairalm.measures.measure import Measure, people_to_settle
from fairalm.measures.rates import RATES, GroupRates, group_rates
from fairalm.measures.scorers import make_gap_scorer
from fairalm.measures.significance import Against, compare_to_reference, holm

__all__ = [
    "MEASURES",
    "RATES",
    "Against",
    "Change",
    "Changes",
    "Counts",
    "GroupRates",
    "LabelRates",
    "Measure",
    "Tally",
    "bin_scores",
    "chosen_measure",
    "compare_to_reference",
    "ddp",
    "definition_of",
    "deo",
    "deo_ratio",
    "describe",
    "difference_interval",
    "dp_ratio",
    "equalized_odds",
    "equalized_odds_ratio",
    "error",
    "error_parity",
    "fpr_gap",
    "group_rates",
    "holm",
    "label_rates",
    "limit_of",
    "make_gap_scorer",
    "measure_all",
    "measure_of",
    "measures_of",
    "merge_bins",
    "paired_changes",
    "people_to_settle",
    "predictive_parity",
    "quotient_interval",
    "range_interval",
    "rate_interval",
    "rates_entry",
    "ratio_interval",
    "splits_entry",
]
