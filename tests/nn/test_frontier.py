"""The softmax fit against scikit-learn; the frontier of features against its own formulas; the whole net, saved too."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from sklearn.linear_model import LogisticRegression  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from fairalm import (  # noqa: E402
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    InputError,
    PredictiveParity,
    Unconstrained,
)
from fairalm.datasets import load_compas, preprocess  # noqa: E402
from fairalm.frontier.joint import Joint  # noqa: E402
from fairalm.frontier.rule import Rule  # noqa: E402
from fairalm.nn import Features, FrontierHead, fit_frontier, refit_last_layer  # noqa: E402
from fairalm.nn.head_learner import HeadFitter  # noqa: E402
from fairalm.nn.mending import find_mending, mend  # noqa: E402
from fairalm.nn.softmax import fit_softmax  # noqa: E402

WIDTH = 6


def synthetic(seed=0, n=3000, n_groups=2):
    """Rows whose label depends on the group, which the features tell roughly."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    y = (rng.random(n) < 0.3 + 0.4 * group / (n_groups - 1)).astype(np.int64)
    x = np.column_stack([y + rng.normal(size=n), group + 0.5 * rng.normal(size=n), rng.normal(size=(n, WIDTH - 2))])
    return Features(torch.tensor(x, dtype=torch.float32), y, group.astype(np.int64))


def predicted(model, x):
    with torch.inference_mode():
        out = model(x)
        return ((out[:, 0] if out.shape[1] == 1 else out[:, 1] - out[:, 0]) > 0).numpy()


def spread(chosen, rows, among=None):
    """Largest difference of the groups' shares predicted as label 1, among rows of one label or all."""
    inside = np.ones(len(rows.y), dtype=bool) if among is None else rows.y == among
    rates = [chosen[inside & (rows.group == g)].mean() for g in np.unique(rows.group)]
    return max(rates) - min(rates)


@pytest.fixture(scope="module")
def rows():
    return synthetic()


@pytest.fixture(scope="module")
def frontier(rows):
    return fit_frontier(nn.Linear(WIDTH, 1), rows, l2=0.001)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("wide", [False, True])
def test_softmax_equals_scikit_learn(n_groups, wide, monkeypatch):
    if wide:
        monkeypatch.setattr("fairalm.nn.head_learner.WIDEST", 1)  # the path of nets with very many features
    rows, l2 = synthetic(n=600, n_groups=n_groups), 0.01
    fitter = HeadFitter(rows.x * torch.logspace(-2, 2, WIDTH) + 3, rows.y == 1, l2)
    own = np.flatnonzero(rows.y == 1)
    start = fit_softmax(fitter, rows.group, n_groups, np.arange(600))
    heads = fit_softmax(fitter, rows.group, n_groups, own, start)
    # the difference of two scores has twice the penalty of each
    strength = 1 / (len(own) * l2 * (1 if n_groups == 2 else 2))
    theirs = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000)
    x = fitter.x.double().numpy()
    theirs.fit(x[own], rows.group[own])
    scores = np.column_stack([head.logits(fitter.x) for head in heads])
    ours = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ours, theirs.predict_proba(x), atol=1e-3)


def test_the_order_of_the_groups_does_not_matter(rows):
    turned = Features(rows.x, rows.y, 1 - rows.group)
    chosen = [predicted(fit_frontier(nn.Linear(WIDTH, 1), part).at(tol=0.05).model, rows.x) for part in (rows, turned)]
    assert (chosen[0] != chosen[1]).mean() < 0.005


@pytest.mark.parametrize("tol", [0.0, 0.02, 0.1])
def test_the_tolerance_holds_out_of_fold_and_on_new_rows(frontier, tol):
    point, new = frontier.at(tol=tol), synthetic(seed=1, n=20_000)
    assert point.figures["gap_low"] <= tol
    assert point.gap <= tol + 0.03
    assert spread(predicted(point.model, new.x), new, among=1) <= tol + 0.04


def test_the_table_is_the_trade_off(frontier):
    table = frontier.table
    assert table["tol"].is_monotonic_increasing
    assert (np.diff(table["cost"]) < 1e-12).all()
    assert (table["certificate"] < 1e-3).all()
    assert table["gap"].iloc[0] < 0.03 < table["gap"].iloc[-1]
    row = table[table["tol"] == 0.05].iloc[0]
    point = frontier.at(tol=0.05)
    assert (row["error"], row["gap"]) == (point.error, point.gap)


@pytest.mark.parametrize("mend", [False, True])
@pytest.mark.parametrize("l2", [0.001, 0.5])
def test_without_a_limit_it_is_the_plain_head(rows, mend, l2):
    plain = refit_last_layer(nn.Linear(WIDTH, 1), rows, method=Unconstrained(), l2=l2)
    head = fit_frontier(nn.Linear(WIDTH, 1), rows, l2=l2, mend=mend).at(tol=1).model
    np.testing.assert_array_equal(predicted(head, rows.x), predicted(plain.model, rows.x))


@pytest.mark.parametrize("mended", [None, "out of fold", "held out"])
def test_the_head_computes_what_the_frontier_was_solved_with(mended):
    """The torch head against the probabilities and the rule in numpy."""
    rows = synthetic(n=1500, n_groups=3)
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    head = FrontierHead(WIDTH, 1, n_groups=3, populations=["other", "target"]).double()
    by = (None, {})
    x = rows.x.double()
    with torch.no_grad():
        head.label.weight *= 8  # beyond where probabilities are clipped
        head.label.weight[0, 0] = 4
        target = head.label(x).sigmoid()[:, 0].numpy()
        joint = Joint(target, {name: layer(x).softmax(1).numpy() for name, layer in head.members.items()})
    assert target.min() < 1e-3 < 1 - 1e-3 < target.max()
    if mended:
        by = find_mending(joint, rows.y == 1, rows.group, is_heldout=mended == "held out")
        assert by[0] is not None  # random heads need it
        assert set(by[1]) == {"other", "target"}
        head.set_mending(*by)
    joint = mend(joint, *by)
    rule = Rule(("other", "target"), rng.normal(size=(2, 3)), 1.5, 0.7, 0.2, -1e-5)
    head.set_rule(rule)
    with torch.inference_mode():
        logit = head(x)[:, 0].numpy()
    np.testing.assert_allclose(logit, rule.threshold - rule.margins(joint), atol=1e-6)


def test_two_groups_are_mended_alike():
    rows = synthetic(n=1500)
    head = FrontierHead(WIDTH, 1, n_groups=2, populations=["everyone"]).double()
    with torch.no_grad():
        given = {"everyone": head.members["everyone"](rows.x.double()).softmax(1).numpy()}
        joint = Joint(head.label(rows.x.double()).sigmoid()[:, 0].numpy(), given)
        by = find_mending(joint, rows.y == 1, rows.group)
        head.set_mending(*by)
        _, members = head.probabilities(rows.x.double())
    np.testing.assert_allclose(members["everyone"].numpy(), mend(joint, *by).members["everyone"], atol=1e-6)


@pytest.mark.parametrize(
    ("constraint", "among"), [(DemographicParity(), None), (EqualizedOdds(), 0), (EqualizedOdds(), 1)], ids=str
)
def test_other_constraints_and_three_groups(constraint, among):
    rows, new = synthetic(n=4000, n_groups=3), synthetic(seed=1, n=20_000, n_groups=3)
    frontier = fit_frontier(nn.Linear(WIDTH, 1), rows, constraint=constraint, n_groups=3, l2=0.001)
    plain, fair = (predicted(frontier.at(tol=tol).model, new.x) for tol in (1, 0.02))
    assert spread(fair, new, among) <= 0.07 < spread(plain, new, among)


def test_several_constraints_and_operating_points(rows):
    both = [EqualOpportunity(tol=0.02), DemographicParity(tol=0.05)]
    frontier = fit_frontier(nn.Linear(WIDTH, 1), rows, constraint=both, l2=0.001)
    assert frontier.at().gap <= 0.08
    assert frontier.at(acceptance=0.3, tol=1).figures["selection"] == pytest.approx(0.3, abs=0.03)
    eager, wary = frontier.at(tol=1, cost_fn=3), frontier.at(tol=1, cost_fp=3)
    assert eager.figures["selection"] > wary.figures["selection"] + 0.2
    alone = frontier.at(constraint=DemographicParity(ratio=0.9, reference=1))
    assert alone.figures["selection_0"] >= 0.85 * alone.figures["selection_1"]
    plain = frontier.at(tol=1).figures
    raised = frontier.at(constraint=EqualOpportunity(tol=0.02), floor="plain").figures
    assert min(raised["tpr_0"] - plain["tpr_0"], raised["tpr_1"] - plain["tpr_1"]) > -0.03


def test_held_out_rows_in_place_of_folds(rows):
    heldout, new = synthetic(seed=2), synthetic(seed=1, n=20_000)
    point = fit_frontier(nn.Linear(WIDTH, 1), rows, heldout, l2=0.001).at(tol=0.02)
    chosen = predicted(point.model, heldout.x)
    assert (chosen != (heldout.y == 1)).mean() == pytest.approx(point.error, abs=2 / 3000)
    assert spread(chosen, heldout, among=1) == pytest.approx(point.gap, abs=2 / 1000)
    assert spread(predicted(point.model, new.x), new, among=1) <= 0.06


def together(seed, n, share):
    """Rows whose label is that of their group in this share; the features tell the group more clearly."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    group = np.where(rng.random(n) < share, y, 1 - y)
    x = np.column_stack([1.5 * y + rng.normal(size=n), 3 * group + rng.normal(size=n)])
    return Features(torch.tensor(x, dtype=torch.float32), y, group)


def test_held_out_rows_mend_heads_that_took_the_group_for_the_label():
    train, heldout, new = together(0, 3000, 0.95), together(1, 1000, 0.5), together(2, 20_000, 0.5)
    errors = {}
    for mended in (False, True):
        point = fit_frontier(nn.Linear(2, 1), train, heldout, l2=0.001, mend=mended).at(tol=0.05)
        chosen = predicted(point.model, new.x)
        errors[mended] = (chosen != (new.y == 1)).mean()
    best = 0.227  # of the first feature alone
    assert errors[True] < best + 0.02 < errors[False]
    assert spread(chosen, new, among=1) < 0.08


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_real_net_is_saved_and_loaded(tmp_path, outputs):
    rows = synthetic()
    torch.manual_seed(0)

    def make():
        return nn.Sequential(nn.Linear(WIDTH, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, outputs))

    net = make()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    data = TensorDataset(rows.x, torch.tensor(rows.y), torch.tensor(rows.group))
    frontier = fit_frontier(net, DataLoader(data, batch_size=400), head="3", cache=tmp_path / "cache")
    assert all((net.state_dict()[key] == value).all() for key, value in before.items())
    point = frontier.at(tol=0.03)
    assert not point.model.training
    assert point.head == frontier.head == "3"
    assert point.model(rows.x).shape == (len(rows.y), outputs)
    assert spread(predicted(point.model, rows.x), rows, among=1) <= 0.08
    torch.save(point.model.state_dict(), tmp_path / "net.pt")
    loaded = make().eval()
    loaded[3] = FrontierHead(16, outputs, n_groups=2, populations=["target"])
    loaded.load_state_dict(torch.load(tmp_path / "net.pt", weights_only=True))
    np.testing.assert_array_equal(predicted(loaded, rows.x), predicted(point.model, rows.x))


def test_equalized_odds_of_a_plain_net_on_compas():
    """On rows of which the net predicts one group better for both labels, where training under the constraint fails."""
    data = load_compas()
    X = data.features_frame(with_protected=True)
    x = torch.tensor(preprocess(X).fit_transform(X), dtype=torch.float32)
    y, group = torch.tensor(data.y), (data.groups == "Caucasian").to_numpy(dtype=np.int64)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y.float()).backward()
        optimizer.step()
    rows = Features(x, data.y, group)
    loader = DataLoader(TensorDataset(x, y, torch.tensor(group)), batch_size=1024)
    fair = fit_frontier(net, loader, constraint=EqualizedOdds()).at(tol=0.01)
    before, after = (max(spread(predicted(model, x), rows, label) for label in (0, 1)) for model in (net, fair.model))
    assert before > 0.2
    assert after < 0.03


def test_label_0_as_the_target(rows):
    frontier = fit_frontier(nn.Linear(WIDTH, 1), rows, constraint=EqualOpportunity(target=0), l2=0.001)
    plain = refit_last_layer(nn.Linear(WIDTH, 1), rows, method=Unconstrained(), l2=0.001)
    assert (predicted(frontier.at(tol=1).model, rows.x) == predicted(plain.model, rows.x)).mean() > 0.97
    assert spread(predicted(frontier.at(tol=0.01).model, rows.x), rows, among=0) < 0.05
    with pytest.raises(InputError, match="fitted for the target 0, not 1"):
        frontier.at(constraint=EqualOpportunity(target=1))


def test_a_double_net_stays_double(rows):
    point = fit_frontier(nn.Linear(WIDTH, 1).double(), rows).at(tol=0.1)
    assert point.model(rows.x.double()).dtype == torch.float64


def test_errors_come_before_any_work(rows):
    def never():
        raise AssertionError("the loader was read")
        yield

    net = nn.Linear(WIDTH, 1)
    for wrong, message in (
        ({"n_folds": 1}, "`n_folds` must be an integer, 2 or more; got 1"),
        ({"n_folds": 3, "heldout": rows}, "Pass held-out rows or `n_folds`, not both"),
        ({"l2": 0}, "`l2` must be positive; got 0"),
        ({"n_groups": 1}, "`n_groups` must be an integer, 2 or more; got 1"),
        ({"constraint": PredictiveParity()}, "has no frontier"),
        ({"constraint": []}, "`constraint` is an empty list"),
        ({"constraint": EqualOpportunity(target="yes")}, "must be 0 or 1"),
        ({"constraint": [EqualOpportunity(), DemographicParity(target=0)]}, "different targets"),
        ({"head": "fc"}, "no nn.Linear named 'fc'"),
        ({"device": "nowhere"}, "There is no device 'nowhere'"),
    ):
        with pytest.raises(InputError, match=message):
            fit_frontier(net, never(), **wrong)
    with pytest.raises(InputError, match=r"Groups must lie in 0\.\.1"):
        fit_frontier(net, synthetic(n_groups=3))
    with pytest.raises(InputError, match="columns, the head takes 5"):
        fit_frontier(nn.Linear(5, 1), rows)


def test_a_point_that_cannot_be_had(frontier):
    with pytest.raises(InputError, match="no model was fitted for that"):
        frontier.at(constraint=DemographicParity())
    with pytest.raises(InputError, match="acceptance"):
        frontier.at(acceptance=1.5)
    with pytest.raises(InputError, match="not both"):
        frontier.at(tol=0.1, ratio=0.8)


def test_a_group_without_positives_is_refused(rows):
    without = Features(rows.x, np.where(rows.group == 0, 0, rows.y), rows.group)
    with warnings.catch_warnings(), pytest.raises(InputError, match="has no rows"):
        fit_frontier(nn.Linear(WIDTH, 1), without)
