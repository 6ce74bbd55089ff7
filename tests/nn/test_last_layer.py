"""The head's fit against scikit-learn; the game on COMPAS, every criterion for two and three groups; the whole net."""

import copy
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from sklearn.linear_model import LogisticRegression  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import fairalm  # noqa: E402
from fairalm import (  # noqa: E402
    DemographicParity,
    EqualOpportunity,
    ErrorParity,
    FairALMClassifier,
    InputError,
    SecantALM,
    Unconstrained,
)
from fairalm.constraints import CONSTRAINTS  # noqa: E402
from fairalm.datasets import load_compas, preprocess, split  # noqa: E402
from fairalm.exceptions import ConstantModelWarning, ToleranceWarning  # noqa: E402
from fairalm.methods import FairALMLinear  # noqa: E402
from fairalm.nn.features import Features, compute_features  # noqa: E402
from fairalm.nn.head import Linear, with_head  # noqa: E402
from fairalm.nn.head_learner import HeadFitter, HeadLearner  # noqa: E402
from fairalm.nn.last_layer import refit_last_layer  # noqa: E402


@pytest.fixture(scope="module")
def compas():
    """A net trained on COMPAS, and loaders of (x, y, group) for training and new people."""
    data = load_compas()
    frame = data.features_frame(with_protected=True)
    train, test = split(data.y, data.groups, random_state=0)
    table = preprocess(frame.iloc[train]).fit(frame.iloc[train])
    x = torch.tensor(table.transform(frame), dtype=torch.float32)
    y, group = torch.tensor(data.y), torch.tensor((data.groups == "Caucasian").to_numpy(dtype=int))
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(60):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[train])[:, 0], y[train].float())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    parts = [TensorDataset(x[rows], y[rows], group[rows]) for rows in (train, test)]
    return net, *(DataLoader(part, batch_size=512) for part in parts)


def synthetic(seed=0, n=1200, width=6, n_groups=2, noise=0):
    """Rows whose label depends on the group; `noise` further columns say nothing."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    y = (rng.random(n) < 0.3 + 0.4 * group / (n_groups - 1)).astype(np.int64)
    x = np.column_stack(
        [y + rng.normal(size=n), group + 0.5 * rng.normal(size=n), rng.normal(size=(n, width - 2 + noise))]
    )
    return Features(torch.tensor(x, dtype=torch.float32), y, group.astype(np.int64))


def gap_on(model, rows):
    """Signed FNR gap of a model on rows, counted anew."""
    with torch.inference_mode():
        chosen = (model(rows.x)[:, 0] > 0).numpy()
    rates = [(~chosen)[(rows.y == 1) & (rows.group == g)].mean() for g in (0, 1)]
    return rates[0] - rates[1]


@pytest.mark.parametrize("l2", [0.001, 0.1])
@pytest.mark.parametrize("wide", [False, True])
def test_head_equals_scikit_learn(l2, wide, monkeypatch):
    if wide:
        monkeypatch.setattr("fairalm.nn.head_learner.WIDEST", 1)  # the path of nets with very many features
    rows = synthetic(n=500)
    rng = np.random.default_rng(1)
    weights = rng.uniform(-0.5, 2, size=500)
    x = rows.x * torch.logspace(-3, 3, 6) + 5
    fitter = HeadFitter(x, rows.y == 1, l2)
    start = fitter.fit(np.ones(500))
    ours = fitter.fit(weights, start)
    flipped = np.where(weights < 0, 1 - rows.y, rows.y)
    theirs = LogisticRegression(C=1 / (500 * l2), tol=1e-10, max_iter=10_000)
    theirs.fit(fitter.x.double().numpy(), flipped, sample_weight=abs(weights))
    np.testing.assert_allclose(ours.weight, theirs.coef_[0], atol=1e-4)
    np.testing.assert_allclose(ours.bias, theirs.intercept_[0], atol=1e-4)


def test_folded_head_gives_the_same_logits():
    rows = synthetic(n=300)
    x = torch.cat([rows.x * 40 + 7, torch.full((300, 1), 3.3)], 1)  # the last column is constant
    fitter = HeadFitter(x, rows.y == 1, 0.01)
    fitted = fitter.fit(np.ones(300))
    raw = fitter.folded(fitted)
    assert raw.weight[-1] == 0
    np.testing.assert_allclose(raw.logits(x), fitted.logits(fitter.x), atol=1e-4)


def test_a_shifted_head_predicts_the_target_above_the_shift():
    rows = synthetic(n=500)
    learner = HeadLearner(HeadFitter(rows.x, rows.y == 1, 0.01))
    model = learner.fit(np.ones(500))
    margin = learner.margin(model, learner.x)
    for by in (0.7, -1.3):
        moved = learner.shifted(model, by)
        np.testing.assert_array_equal(moved.weight, model.weight)
        np.testing.assert_array_equal(learner.margin(moved, learner.x) > 0, margin > by)
    assert (learner.margin(learner.shifted(model, -np.inf), learner.x) > 0).all()
    assert (learner.margin(learner.shifted(model, np.inf), learner.x) < 0).all()
    assert learner.n_coefficients(model) == 6


def test_the_net_predicts_as_its_game_measured():
    """Whether its threshold was moved or not, counted anew from the net's own logits."""
    moved = 0
    for seed in range(4):
        rows = synthetic(seed=seed, n=1500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fairalm.FairALMWarning)
            fair = refit_last_layer(nn.Linear(6, 1), rows, constraint=DemographicParity(tol=0.1), max_iter=3)
        with torch.inference_mode():
            chosen = (fair.model(rows.x)[:, 0] > 0).numpy()
        rates = [chosen[rows.group == g].mean() for g in (0, 1)]
        assert abs(rates[0] - rates[1]) == pytest.approx(fair.gap, abs=2 / 600)
        assert (chosen != (rows.y == 1)).mean() == pytest.approx(fair.error, abs=2 / 1500)
        moved += bool(fair.game.result("single").shifts[0])
    assert moved


def test_weights_of_one_label_make_a_constant():
    rows = synthetic(n=100)
    fitter = HeadFitter(rows.x, rows.y == 1, 0.1)
    head = fitter.fit(np.where(rows.y == 1, 1.0, -1.0))
    assert not head.weight.any()
    assert head.bias > 0


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
def test_head_goes_back_into_the_net(outputs, bias):
    net = nn.Sequential(nn.Linear(4, 6), nn.Sequential(nn.ReLU(), nn.Linear(6, outputs, bias=bias)))
    before = copy.deepcopy(net.state_dict())
    fitted = Linear(np.arange(6.0), 0.7)
    new = with_head(net, "1.1", fitted)
    x = torch.randn(9, 4)
    logits = new(x).detach()
    logit = logits[:, 0] if outputs == 1 else logits[:, 1] - logits[:, 0]
    np.testing.assert_allclose(logit, fitted.logits(net[0](x).relu().detach()), rtol=1e-5)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_trained_net_becomes_fair(compas):
    net, train, test = compas
    fair = refit_last_layer(net, train, constraint=EqualOpportunity(tol=0.01), l2=0.001)
    assert abs(fair.history["gap"].iloc[0]) > 0.15
    assert fair.gap <= 0.01
    with torch.inference_mode():
        logits = torch.cat([fair.model(x)[:, 0] for x, _, _ in train])
    rows = compute_features(net, train)
    wrong = (logits > 0).numpy() != (rows.y == 1)
    rates = [wrong[(rows.y == 1) & (rows.group == g)].mean() for g in (0, 1)]
    assert abs(rates[0] - rates[1]) == pytest.approx(fair.gap, abs=0.003)  # a person on the boundary may round over
    assert wrong.mean() == pytest.approx(fair.error, abs=0.002)
    assert 0 <= fair.optimality_gap < 0.03
    assert fair.history["error"].iloc[0] < fair.error < fair.history["error"].iloc[0] + 0.05
    assert list(fair.history.columns) == ["t", "lambda", "error", "gap", "lagrangian", "saddle_gap"]
    body = [value for name, value in fair.model.state_dict().items() if not name.startswith(fair.head)]
    old = [value for name, value in net.state_dict().items() if not name.startswith(fair.head)]
    assert all(torch.equal(a, b) for a, b in zip(body, old, strict=True))


def test_same_call_same_net(compas):
    net, train, _ = compas
    first, second = (refit_last_layer(net, train, n_folds=2) for _ in range(2))
    assert torch.equal(first.model[3].weight, second.model[3].weight)


@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")
@pytest.mark.filterwarnings("ignore::fairalm.LevellingDownWarning")  # true of some of these
@pytest.mark.filterwarnings("ignore::fairalm.OptimalityWarning")
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("signal", ["train", "heldout", "folds"])
def test_every_criterion(name, n_groups, signal):
    train = synthetic(n_groups=n_groups, n=1500)
    constraint = CONSTRAINTS[name](tol=0.05)
    fair = refit_last_layer(
        nn.Linear(6, 1),
        train,
        synthetic(seed=1, n_groups=n_groups, n=1500) if signal == "heldout" else None,
        constraint=constraint,
        n_groups=n_groups,
        n_folds=2 if signal == "folds" else 0,
        max_iter=20,
    )
    share = 0.7 if name == "predictive-parity" else 0.5  # base rates of 30 and 70 % are hard on it
    assert fair.gap <= max(0.05, share * fair.game.classifiers[0].moments.max_gap)
    assert fair.dual.shape == fair.game.classifiers[0].moments.gap.shape
    assert np.isnan(fair.optimality_gap) == (name == "predictive-parity")


@pytest.mark.parametrize("name", ["equal-opportunity", "equalized-odds", "demographic-parity"])
def test_same_game_as_around_scikit_learn(name):
    rows, constraint = synthetic(n_groups=2), CONSTRAINTS[name](tol=0.05)
    fair = refit_last_layer(nn.Linear(6, 1), rows, constraint=constraint, l2=0.01)
    x = HeadFitter(rows.x, rows.y == 1, 0.01).x.double().numpy()
    estimator = LogisticRegression(C=1 / (0.01 * len(x)), tol=1e-8, max_iter=10_000)
    other = FairALMClassifier(estimator, constraint=constraint).fit(x, rows.y, sensitive_features=rows.group)
    np.testing.assert_allclose(fair.history.to_numpy(), other.history_.to_numpy(), atol=3 / len(x))
    assert fair.optimality_gap == pytest.approx(other.optimality_gap_, abs=3 / len(x))


def test_target_zero_is_the_mirror_image():
    rows = synthetic()
    mirrored = Features(rows.x, 1 - rows.y, rows.group)
    one = refit_last_layer(nn.Linear(6, 1), rows)
    zero = refit_last_layer(nn.Linear(6, 1), mirrored, constraint=EqualOpportunity(target=0))
    torch.testing.assert_close(one.model.weight, -zero.model.weight)
    assert one.gap == zero.gap


def test_heldout_signal_closes_a_gap_that_training_rows_hide():
    train, heldout, new = (synthetic(seed=s, n=n, noise=300) for s, n in ((0, 350), (1, 4000), (2, 20_000)))
    settings = {"constraint": EqualOpportunity(tol=0.02), "l2": 1e-4}
    blind = refit_last_layer(nn.Linear(306, 1), train, **settings)
    seeing = refit_last_layer(nn.Linear(306, 1), train, heldout, **settings)
    assert blind.gap <= 0.02
    assert abs(gap_on(blind.model, new)) > 0.15
    assert abs(gap_on(seeing.model, new)) < 0.06


def test_folds_close_it_too():
    train, new = synthetic(n=2000, noise=300), synthetic(seed=2, n=20_000, noise=300)
    settings = {"constraint": EqualOpportunity(tol=0.02), "l2": 1e-3}
    blind = refit_last_layer(nn.Linear(306, 1), train, **settings)
    seeing = refit_last_layer(nn.Linear(306, 1), train, n_folds=4, **settings)
    assert abs(gap_on(seeing.model, new)) < 0.5 * abs(gap_on(blind.model, new))


def test_unconstrained_is_the_plain_head():
    rows = synthetic()
    fair = refit_last_layer(nn.Linear(6, 1), rows, method=Unconstrained(), l2=0.01)
    fitter = HeadFitter(rows.x, rows.y == 1, 0.01)
    plain = fitter.folded(fitter.fit(np.ones(len(rows.y))))
    np.testing.assert_allclose(fair.model.weight[0].detach(), plain.weight, rtol=1e-5)


def test_cached_features_serve_a_second_criterion(compas, tmp_path):
    net, train, test = compas
    first = refit_last_layer(net, train, test, cache=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"train", "heldout"}
    again = refit_last_layer(net, train, test, cache=tmp_path)
    assert torch.equal(first.model[3].weight, again.model[3].weight)


def test_warnings():
    rows = synthetic()
    with pytest.warns(ToleranceWarning, match=r"after 1 round, above the tolerance of 1\."):
        refit_last_layer(nn.Linear(6, 1), rows, max_iter=1)
    with pytest.warns((ToleranceWarning, ConstantModelWarning)):
        refit_last_layer(nn.Linear(6, 1), rows, method=FairALMLinear(eta=50.0), max_iter=3)


@pytest.mark.filterwarnings("ignore::fairalm.LevellingDownWarning")
def test_constraint_and_method_by_name():
    rows = synthetic()
    named = refit_last_layer(nn.Linear(6, 1), rows, constraint="error-parity", method="secant")
    made = refit_last_layer(nn.Linear(6, 1), rows, constraint=ErrorParity(), method=SecantALM())
    assert named.history.equals(made.history)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"l2": 0}, "`l2` must be positive; got 0"),
        ({"l2": float("nan")}, "`l2`"),
        ({"n_folds": 1}, "`n_folds` must be 0, or 2 or more; got 1"),
        ({"n_groups": 1}, "`n_groups`"),
        ({"max_iter": 0}, "`max_iter`"),
        ({"max_iter": 2.5}, "`max_iter`"),
        ({"bound": -1}, "`bound`"),
        ({"constraint": "eo"}, "There is no constraint 'eo'; there are: equal-opportunity"),
        ({"constraint": EqualOpportunity}, "must be a Constraint"),
        ({"method": "secnt"}, "There is no method 'secnt', did you mean 'secant'"),
        ({"method": "pi-control"}, "must be a Method for full fits"),
        ({"constraint": EqualOpportunity(target="yes")}, "must be 0 or 1, as the labels are; got 'yes'"),
        ({"n_groups": 3}, r"Group '2 \(train\)' has no rows with y=1"),
        ({"head": "fc"}, "no nn.Linear named 'fc'"),
        ({"heldout": synthetic(), "n_folds": 2}, "not both"),
        ({"device": "moon"}, "moon"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        refit_last_layer(nn.Linear(6, 1), synthetic(n=60), **settings)


def test_bad_rows():
    rows = synthetic(n=60, n_groups=3)
    with pytest.raises(InputError, match=r"0\.\.1 \(n_groups=2\); got 2 in train"):
        refit_last_layer(nn.Linear(6, 1), rows)
    with pytest.raises(InputError, match="have 6 columns, the head takes 5"):
        refit_last_layer(nn.Linear(5, 1), rows, n_groups=3)
    one_label = Features(rows.x, np.ones_like(rows.y), rows.group % 2)
    with pytest.raises(InputError, match=r"one label only \(1\)"):
        refit_last_layer(nn.Linear(6, 1), one_label)
