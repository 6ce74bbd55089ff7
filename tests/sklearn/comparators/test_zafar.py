import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairalm.exceptions import ToleranceWarning
from fairalm.sklearn.comparators import ZafarClassifier, convex_concave

AMONG = pytest.mark.parametrize("among", ["everyone", "positives"])


def covariance(model, X, y, s, among):
    """The paper's formula, typed out: 1/N sum of (z - mean of z) min(0, (1 + y)/2 y d(x)), with y of -1 and 1."""
    z, signed = (s == np.unique(s)[1]).astype(float), 2 * y - 1
    g = np.minimum(0, (1 + signed) / 2 * signed * model.decision_function(X))
    rows = np.ones(len(y), dtype=bool) if among == "everyone" else y == 1
    return np.mean((z[rows] - z[rows].mean()) * g[rows])


def objective(theta, X, y, C=1.0):
    margin = (2 * y - 1) * (X @ theta[:-1] + theta[-1])
    return np.logaddexp(0, -margin).mean() + theta[:-1] @ theta[:-1] / (2 * C * len(y))


def theta_of(model):
    return np.append(model.coef_, model.intercept_)


@AMONG
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_the_covariance_is_at_its_bound(compas, share, among):
    X, y, s = compas
    plain = LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(X, y)
    model = ZafarClassifier(share=share, among=among).fit(X, y, sensitive_features=s)
    before = covariance(plain, X, y, s, among)
    assert model.plain_covariance_ == pytest.approx(before, rel=1e-6)
    assert model.covariance_ == pytest.approx(covariance(model, X, y, s, among), abs=1e-12)
    assert model.covariance_ == pytest.approx(share * before, abs=2e-4 * abs(before))
    assert objective(theta_of(model), X, y) > objective(theta_of(plain), X, y)


@AMONG
def test_the_whole_covariance_allows_the_plain_model(compas, among):
    X, y, s = compas
    model = ZafarClassifier(share=1.0, among=among, C=0.5).fit(X, y, sensitive_features=s)
    plain = LogisticRegression(C=0.5, tol=1e-8, max_iter=1000).fit(X, y)
    assert theta_of(model) == pytest.approx(theta_of(plain), abs=1e-4)


@AMONG
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_no_model_on_a_grid_does_better(people, share, among):
    """The loss is convex, so the best model lies on the bound: slopes on a grid, and the intercepts that reach it."""
    X, y, s = people(n=1000, seed=2)
    model = ZafarClassifier(share=share, among=among).fit(X, y, sensitive_features=s)
    plain = theta_of(ZafarClassifier(share=1.0).fit(X, y, sensitive_features=s))
    positive, z = y == 1, s == 1
    counted = z if among == "everyone" else z[positive]
    weight = (z[positive] - counted.mean()) / len(counted)
    intercepts = plain[2] + np.linspace(-2, 2, 401)
    best = np.inf
    for slopes in plain[:2] + 0.06 * np.stack(np.meshgrid(np.arange(-15, 16), np.arange(-15, 16)), -1).reshape(-1, 2):
        values = weight @ np.minimum(0, (X[positive] @ slopes)[:, None] + intercepts)
        for bound in {share * model.plain_covariance_, -share * model.plain_covariance_}:
            above = values - bound
            for i in np.flatnonzero(above[:-1] * above[1:] < 0):
                b = intercepts[i] + (intercepts[i + 1] - intercepts[i]) * above[i] / (above[i] - above[i + 1])
                best = min(best, objective(np.append(slopes, b), X, y))
    assert best - 2e-3 < objective(theta_of(model), X, y) < best


def test_a_round_is_that_of_all_rows(people, monkeypatch):
    """Whether all rows have variables from the start, those near the boundary, or none: the same theta."""
    X, y, s = people(n=1000)
    rows = np.column_stack([X, np.ones(1000)])
    theta = theta_of(ZafarClassifier(share=1.0).fit(X, y, sensitive_features=s))
    loss = convex_concave.LogLoss(rows, y == 1, penalty=1.0)
    covariance = convex_concave.Covariance(rows[y == 1], (s[y == 1] - 0.5) / 1000)
    found = []
    for near in (np.inf, 0.5, 1e-9):
        monkeypatch.setattr(convex_concave, "NEAR", near)
        found.append(convex_concave._round(loss, covariance, theta, tau=1.0, bound=0.0))
    assert abs(found[0] - theta).max() > 0.05
    assert found[1] == pytest.approx(found[0], abs=1e-5)
    assert found[2] == pytest.approx(found[0], abs=1e-5)


def test_per_member_is_not_per_positive(people):
    """As published, the group with fewer positives must miss more of them for the distances per member to agree."""
    X, y, s = people(n=4000)
    gaps = {}
    for among in ("everyone", "positives"):
        labels = ZafarClassifier(among=among).fit(X, y, sensitive_features=s).predict(X)
        gaps[among] = abs(labels[(y == 1) & (s == 0)].mean() - labels[(y == 1) & (s == 1)].mean())
    assert gaps["positives"] < 0.05
    assert gaps["everyone"] > 0.1


def test_nobody_missed_is_the_plain_model():
    X = np.array([[-3.0], [3.0]] * 20)
    y = np.array([0, 1] * 20)
    s = np.array([0, 0, 1, 1] * 10)
    model = ZafarClassifier().fit(X, y, sensitive_features=s)
    assert model.n_iter_ == 1
    assert model.covariance_ == 0


def test_too_few_rounds_are_reported(compas):
    pytest.importorskip("clarabel")
    X, y, s = compas
    with pytest.warns(ToleranceWarning, match="after 1 rounds, above the bound 0: raise max_iter or share"):
        ZafarClassifier(max_iter=1).fit(X, y, sensitive_features=s)
