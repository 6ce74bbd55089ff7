"""The search for less discriminatory alternatives."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairalm
from fairalm import InputError
from fairalm.measures.lending import bad_rate, bad_rate_change, impact_ratio
from fairalm.runs import LdaSettings, LdaSource, lda, predict
from fairalm.runs.search import bad_rate_of, threshold_for

pytestmark = pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
SETTINGS = LdaSettings(reference="white", acceptance=0.6, margin=0.05, estimator="logistic", ratio=0.8)


def loans(n, seed=0):
    """Loans: `town` says much about race and little about repayment, so that an alternative costs little."""
    rng = np.random.default_rng(seed)
    race = rng.choice(["black", "white"], n, p=[0.3, 0.7])
    income = rng.normal(size=n)
    town = np.where(race == "black", -1.0, 1.0) + 0.6 * rng.normal(size=n)
    repaid = np.where(income + 0.25 * town + 0.8 * rng.normal(size=n) > -0.3, "yes", "no")
    return pd.DataFrame({"income": income.round(3), "town": town.round(3), "race": race, "repaid": repaid})


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    loans(6000).to_csv(path, index=False)
    return LdaSource(str(path), "repaid", "race")


@pytest.fixture(scope="module")
def done(source):
    return lda(source, SETTINGS)


def test_an_alternative_is_found_and_judged_on_rows_not_searched(done):
    assert done.verdict == "found"
    assert sorted(np.concatenate(list(done.rows.values()))) == list(range(6000))
    assert [len(rows) for rows in done.rows.values()] == [3000, 1500, 1500]
    rows = done.rows["judge"]
    X, bad = done.samples.X.iloc[rows], done.samples.data.y[rows] == 0
    accepted = {
        "baseline": done.baseline.model.predict(X) == "yes",
        "chosen": done.chosen.model.predict(X) == "yes",
    }
    black = done.samples.group_names[rows] == "black"
    for name, own in accepted.items():
        assert done.judged[name].bad_rate == bad_rate(bad, own)
        assert done.judged[name].ratios["black"] == impact_ratio(own, black, ~black)
        assert own.mean() == pytest.approx(0.6, abs=0.04)
    assert done.judged_changes.bad_rate == bad_rate_change(bad, accepted["baseline"], accepted["chosen"])
    assert done.judged["chosen"].ratio.value > done.judged["baseline"].ratio.value + 0.05


def test_the_log_holds_every_model_and_the_rule_can_be_followed_in_it(done):
    log = done.log
    assert len(log) == len(done.tried)
    assert (log["role"] == "baseline").sum() == (log["role"] == "chosen").sum() == 1
    assert log["acceptance"].between(0.599, 0.601).all()
    others = log[log["role"] != "baseline"]
    asked = others["ratio asked"].dropna()
    assert asked.is_monotonic_increasing
    assert {0.8, 0.9, 1.0} <= set(asked)
    worse = log[log["role"] == "baseline"]["ratio"].item()
    is_admissible = (
        (others["change of bad_rate high"] <= 0.05)
        & (others["change of ratio of black low"] > 0)
        & (others["ratio"] > worse)
    )
    assert (is_admissible == (others["why not"] == "")).all()
    reaching = others[is_admissible & (others["ratio, all rows searched low"] >= 0.8)]
    assert reaching.loc[reaching["bad_rate"].idxmin(), "role"] == "chosen"


def test_judging_rows_have_no_part_in_the_choice(source, done, tmp_path):
    """With the incomes of the judging rows shuffled, the search is the same, and the figures are others."""
    table, rows = pd.read_csv(source.data), done.rows["judge"]
    income = table["income"].to_numpy().copy()
    income[rows] = np.random.default_rng(0).permutation(income[rows])
    table.assign(income=income).to_csv(tmp_path / "loans.csv", index=False)
    again = lda(replace(source, data=str(tmp_path / "loans.csv")), SETTINGS)
    assert again.log.equals(done.log)
    assert again.chosen.name == done.chosen.name
    assert again.judged["chosen"].bad_rate.value > done.judged["chosen"].bad_rate.value


def test_the_bound_is_the_least_bad_rate(done):
    """The bound rises with the ratio, and is the bad rate of the fewest wrong decisions."""
    bounds = done.log["bad rate bound"]
    assert (bounds.diff().dropna() >= -1e-4).all()  # the limits are corrected by observed rates, at each point anew
    proved = done.bounds[0]
    assert proved["no_limit"] <= proved["at_ratio"] <= proved["no_limit"] + 0.05
    assert proved["within"] >= 0.8
    # the share of wrong decisions of any rule, in other units
    rng = np.random.default_rng(0)
    bad, accepted = rng.random(1000) < 0.2, rng.random(1000) < 0.7
    cost = (bad == accepted).mean()
    assert bad_rate_of(cost, accepted.mean(), (~bad).mean()) == pytest.approx(bad[accepted].mean())


def test_saved_and_predicted(done, source, tmp_path):
    done.save(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"model.skops", "config.json", "lda.json", "log.csv", "manifest.json", "table.csv"}
    content = json.loads((tmp_path / "run" / "lda.json").read_text())
    assert content["verdict"] == "found"
    assert content["data"]["judge"] == 1500
    assert len(content["splits"]["choose"]) == len(done.tried)
    predicted = predict(tmp_path / "run", source.data)
    assert (predicted["prediction"] == done.chosen.model.predict(done.samples.X)).all()
    assert predicted["score"].notna().all()
    with pytest.raises(InputError, match="exists"):
        done.save(tmp_path / "run")
    done.save(tmp_path / "run", overwrite=True)
    with pytest.raises(InputError, match="is for runs of fairalm frontier"):
        predict(tmp_path / "run", source.data, fairalm.runs.Choice(tol=0.1))


def test_an_acceptance_of_nobody_has_no_ratio(source):
    done = lda(source, replace(SETTINGS, acceptance=1e-320))
    assert done.chosen is None


def test_none_is_found_where_none_can_be(source, tmp_path):
    none = lda(source, replace(SETTINGS, margin=0.0))
    assert none.verdict == "none"
    assert none.chosen is None
    assert none.judged_changes is None
    assert set(none.judged) == {"baseline"}
    assert (none.log["why not"][none.log["role"] != "baseline"] != "").all()
    none.save(tmp_path / "run")
    assert not (tmp_path / "run" / "model.skops").exists()
    assert json.loads((tmp_path / "run" / "lda.json").read_text())["chosen"] is None


def test_the_same_seed_gives_the_same_search(source, done):
    assert lda(source, SETTINGS).log.equals(done.log)


def test_rows_without_a_group_count_for_acceptance_and_bad_rate(source, tmp_path):
    table = pd.read_csv(source.data)
    hidden = np.random.default_rng(1).random(len(table)) < 0.3
    table.assign(race=table["race"].where(~hidden)).to_csv(tmp_path / "loans.csv", index=False)
    partly = replace(source, data=str(tmp_path / "loans.csv"))
    with pytest.raises(InputError, match="have no value in the protected column"):
        lda(partly, SETTINGS)
    done = lda(replace(partly, missing="unknown"), SETTINGS)
    own = done.judged["chosen"]
    assert own.acceptance.n == 1500
    assert own.ratio.n == int((done.samples.groups.codes[done.rows["judge"]] >= 0).sum()) < 1200
    assert set(own.ratios) == {"black"}
    assert done.to_dict()["data"]["unknown"] == hidden.sum()
    assert own.acceptance.value == pytest.approx(0.6, abs=0.04)


def test_present_decisions_are_the_baseline(source, tmp_path):
    table = pd.read_csv(source.data)
    approved = np.where(table["income"] + 0.5 * table["town"] > 0, "yes", "no")
    table.assign(approved=approved).to_csv(tmp_path / "loans.csv", index=False)
    given = replace(source, data=str(tmp_path / "loans.csv"))
    done = lda(given, replace(SETTINGS, acceptance=None, incumbent="approved"))
    assert done.baseline.name == "present decisions"
    assert "approved" not in done.config["features"]
    share = (approved[done.rows["fit"]] == "yes").mean()
    assert done.acceptance == share
    judged = approved[done.rows["judge"]] == "yes"
    assert done.judged["baseline"].acceptance.value == judged.mean()
    assert done.judged["baseline"].auc is None
    assert done.log["ratio asked"].isna().sum() == 2  # the incumbent, and the model without a limit, which is tried too
    with pytest.raises(InputError, match="must hold the labels of 'repaid'"):
        lda(given, replace(SETTINGS, acceptance=None, incumbent="income"))
    table.assign(approved="yes").to_csv(tmp_path / "loans.csv", index=False)
    with pytest.raises(InputError, match="'approved' accepts every row"):
        lda(given, replace(SETTINGS, acceptance=None, incumbent="approved"))


def test_the_share_is_met_as_nearly_as_ties_allow():
    margins = np.array([0.3, 0.1, 0.1, 0.1, 0.2])
    for share, accepted in ((0.1, 0), (0.5, 3), (0.6, 3), (0.79, 4), (1.0, 5)):
        assert (margins < threshold_for(margins, share)).sum() == accepted


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"acceptance": 0.0}, "acceptance must lie between 0 and 1; got 0.0"),
        ({"acceptance": None}, "which share of the rows to accept"),
        ({"incumbent": "approved"}, "at equal acceptance, that of incumbent: leave acceptance out"),
        ({"margin": -0.1}, "margin must be 0 or more"),
        ({"ratio": 1.5}, "ratio must be above 0 and at most 1"),
        ({"estimator": "linear-svm"}, "no estimator with probabilities 'linear-svm'"),
        ({"estimator": ()}, "estimator is empty"),
        ({"choose_size": 0.6, "test_size": 0.4}, "leave no row to fit on: together they are 1 of all rows"),
        ({"folds": 1}, "folds must be 2 or more"),
    ],
)
def test_settings_that_cannot_be(wrong, message):
    with pytest.raises(InputError, match=message):
        replace(SETTINGS, **wrong)


def test_sources_that_cannot_be(source):
    with pytest.raises(InputError, match="There is no group 'wite', did you mean 'white'"):
        lda(source, replace(SETTINGS, reference="wite"))
    with pytest.raises(InputError, match=r"Name the group .* black, white"):
        lda(source, replace(SETTINGS, reference=None))
    with pytest.raises(InputError, match="weight is not for a search"):
        replace(source, weight="income")
    with pytest.raises(InputError, match="which has one reference group"):
        replace(source, attributes="separate")
    with pytest.raises(InputError, match="missing must be one of error, drop, group, unknown"):
        replace(source, missing="guess")


def test_one_group(source, tmp_path):
    loans(500).assign(race="white").to_csv(tmp_path / "one.csv", index=False)
    for missing in ("error", "unknown"):
        with pytest.raises(InputError, match="at least 2 are needed"):
            lda(replace(source, data=str(tmp_path / "one.csv"), missing=missing), SETTINGS)


def test_too_few_rows(source, tmp_path):
    loans(30).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(InputError, match=r"Of the rows to fit on . are black, and at least 5 must be"):
        lda(replace(source, data=str(tmp_path / "few.csv")), SETTINGS)
