"""The net for tables: closes the gap, keeps labels of any type, goes on after a stop, refuses nonsense."""

import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

torch = pytest.importorskip("torch")

import fairalm  # noqa: E402
import sklearn  # noqa: E402
from fairalm import (  # noqa: E402
    Constraint,
    EqualOpportunity,
    InputError,
    Method,
    ToleranceWarning,
    Unconstrained,
)
from fairalm.cells import Event  # noqa: E402
from fairalm.constraints import CONSTRAINTS  # noqa: E402
from fairalm.datasets import load_compas, preprocess  # noqa: E402
from fairalm.measures import deo, measure_all  # noqa: E402
from fairalm.methods import Traits  # noqa: E402
from fairalm.nn import NetClassifier  # noqa: E402
from fairalm.nn.tabular import make_net  # noqa: E402


@dataclass(frozen=True, kw_only=True)
class ErrorAndOpportunity(Constraint):
    """Equal error among all rows, and among those whose label is the target."""

    def events(self, y):
        return (Event("all"), Event("y=target", mask=y))


@dataclass(frozen=True)
class L1Penalty(Method):
    """Penalty eta |d|: weights eta C' sign(d)."""

    eta: float = 0.02
    traits: ClassVar[Traits] = Traits(has_dual=False)

    def weights(self, moments, dual):
        return self.eta * moments.pull(np.sign(moments.gap))


@pytest.fixture(scope="module")
def compas():
    data = load_compas()
    return data.features_frame(with_protected=True), data.y, data.groups


def people(n=1500, n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    y = (rng.random(n) < np.array([0.3, 0.6, 0.45])[group]).astype(int)
    X = np.hstack([1.5 * y[:, None] + rng.normal(size=(n, 1)), np.eye(n_groups)[group]])
    return X.astype(np.float32), y, group


def test_the_gap_is_closed_at_little_cost(compas):
    X, y, groups = compas
    settings = {"transformer": preprocess(X), "constraint": EqualOpportunity(tol=0.03), "random_state": 0}
    plain = NetClassifier(method=Unconstrained(), **settings).fit(X, y, sensitive_features=groups)
    fair = NetClassifier(**settings).fit(X, y, sensitive_features=groups)
    assert plain.gap_ > 0.2
    assert fair.gap_ <= 0.03
    assert fair.error_ < plain.error_ + 0.03
    predicted = fair.predict(X)
    assert fair.gap_ == pytest.approx(deo(y, predicted, sensitive_features=groups, train=True).value)
    assert fair.error_ == pytest.approx(np.mean(predicted != y))
    assert len(fair.history_) == 30
    assert abs(fair.dual_).max() > 0.05


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_every_criterion(name, n_groups):
    X, y, group = people(n_groups=n_groups)
    constraint = CONSTRAINTS[name](tol=0.03)
    settings = {"constraint": constraint, "hidden": (16,), "batch_size": 64, "epochs": 20, "random_state": 0}
    gaps = {}
    for rule, method in (("plain", Unconstrained()), ("fair", None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ToleranceWarning)
            gaps[rule] = NetClassifier(method=method, **settings).fit(X, y, sensitive_features=group).gap_
    share = 1.0 if name == "predictive-parity" else 0.6  # base rates as far apart as these are hard on it
    assert gaps["fair"] <= max(0.06, share * gaps["plain"])


@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")
def test_constraint_and_method_by_name_and_their_parameters():
    X, y, group = people()
    settings = {"hidden": (4,), "epochs": 2, "random_state": 0}
    named = NetClassifier(constraint="error-parity", method="lagrangian", **settings)
    assert named.get_params()["method__eta"] == fairalm.Lagrangian().eta
    named.set_params(method__eta=0.3, constraint__tol=0.5)
    made = NetClassifier(constraint=fairalm.ErrorParity(tol=0.5), method=fairalm.Lagrangian(eta=0.3), **settings)
    first, second = (clone(net).fit(X, y, sensitive_features=group) for net in (named, made))
    assert (first.predict_proba(X) == second.predict_proba(X)).all()
    assert NetClassifier().get_params()["method__eta"] == fairalm.PIControl().eta
    plain = NetClassifier(method="unconstrained", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain.fit(X, y, sensitive_features=group)
    with pytest.raises(InputError, match="There is no constraint 'parity'"):
        NetClassifier(constraint="parity").fit(X, y, sensitive_features=group)


@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")
def test_a_search_over_the_tolerance():
    X, y, group = people()
    with sklearn.config_context(enable_metadata_routing=True):
        net = NetClassifier(hidden=(4,), epochs=2, random_state=0).set_fit_request(sensitive_features=True)
        search = GridSearchCV(net, {"constraint__tol": [0.1, 0.5]}, cv=2).fit(X, y, sensitive_features=group)
    assert search.best_estimator_.constraint == EqualOpportunity(tol=search.best_params_["constraint__tol"])


def test_rows_in_another_order_and_ids_are_refused():
    X, y, group = people()
    X, y = pd.DataFrame(X), pd.Series(y)
    with pytest.raises(InputError, match="y and X have different indexes: row 0 is 1499 in y, 0 in X"):
        NetClassifier().fit(X, y[::-1], sensitive_features=group)
    with pytest.raises(InputError, match="sensitive_features and X have different indexes"):
        NetClassifier().fit(X, y, sensitive_features=pd.Series(group)[::-1])
    with pytest.raises(InputError, match="has 1,500 groups in 1,500 rows, "):
        NetClassifier().fit(X, y, sensitive_features=np.arange(1500))


def test_labels_and_target_of_any_type(compas):
    X, y, groups = compas
    words = np.where(y == 1, "again", "never")
    settings = {"transformer": preprocess(X), "epochs": 3, "random_state": 0}
    loose = {"tol": 1.0}
    ones = NetClassifier(constraint=EqualOpportunity(**loose), **settings).fit(X, y, sensitive_features=groups)
    named = NetClassifier(constraint=EqualOpportunity(target="again", **loose), **settings)
    named.fit(X, words, sensitive_features=groups)
    assert list(named.classes_) == ["again", "never"]
    assert (named.predict(X) == np.where(ones.predict(X) == 1, "again", "never")).all()
    np.testing.assert_allclose(named.predict_proba(X)[:, 0], ones.predict_proba(X)[:, 1], atol=1e-6)
    assert ((named.predict_proba(X)[:, 0] > 0.5) == (named.predict(X) == "again")).all()


def test_the_same_seed_gives_the_same_net_and_leaves_the_global_numbers_alone():
    X, y, group = people()
    torch.manual_seed(5)
    before = torch.get_rng_state()
    settings = {"constraint": EqualOpportunity(tol=1.0), "epochs": 3}
    nets = [NetClassifier(random_state=seed, **settings).fit(X, y, sensitive_features=group) for seed in (0, 0, 1)]
    assert torch.equal(torch.get_rng_state(), before)
    first, again, other = (net.predict_proba(X)[:, 1] for net in nets)
    assert (first == again).all()
    assert (first != other).any()


def test_a_stopped_run_goes_on_to_the_same_end(tmp_path):
    X, y, group = people()
    settings = {"constraint": EqualOpportunity(tol=1.0), "random_state": 0}
    whole = NetClassifier(epochs=6, **settings).fit(X, y, sensitive_features=group)
    stop = StopAfter(X[:700], 3)
    with pytest.raises(KeyboardInterrupt):
        NetClassifier(epochs=6, folder=tmp_path, transformer=stop, **settings).fit(X, y, sensitive_features=group)
    NetClassifier(epochs=6, folder=tmp_path, **settings).fit(X, y, sensitive_features=group)
    with pytest.raises(InputError, match="holds a run already"):
        NetClassifier(epochs=6, folder=tmp_path, **settings).fit(X, y, sensitive_features=group)
    again = NetClassifier(epochs=6, folder=tmp_path, resume=True, **settings).fit(X, y, sensitive_features=group)
    for name, value in whole.parameters_.items():
        assert (again.parameters_[name] == value).all()


@pytest.mark.parametrize(
    ("rows", "settings", "named"),
    [
        ({}, {"random_state": 5}, "random_state is"),
        ({}, {"random_state": None}, "random_state is"),
        ({}, {"batch_size": 257}, "batch_size is"),
        ({}, {"constraint": EqualOpportunity(tol=1.0, target=0)}, "data is 1500 rows"),
        ({"y": lambda y: np.roll(y, 1)}, {}, "data is 1500 rows"),
        ({"X": lambda X: X + 0.001}, {}, "data is 1500 rows"),
        ({"sensitive_features": lambda group: np.roll(group, 1)}, {}, "data is 1500 rows"),
    ],
)
def test_a_run_resumes_only_with_its_own_rows_and_seed(tmp_path, rows, settings, named):
    """With another seed the split differs: the net would go on with rows that it is then tested on."""
    given = dict(zip(("X", "y", "sensitive_features"), people(), strict=True))
    own = {"constraint": EqualOpportunity(tol=1.0), "random_state": 0, "epochs": 1, "folder": tmp_path}
    NetClassifier(**own).fit(**given)
    given |= {name: change(given[name]) for name, change in rows.items()}
    with pytest.raises(InputError, match=named):
        NetClassifier(**{**own, **settings}, resume=True).fit(**given)


class StopAfter:
    """A transformer that stops the run before it has begun: nothing may be left behind."""

    def __init__(self, X, n):
        self.X, self.n = X, n

    def get_params(self, deep=False):
        return {"X": self.X, "n": self.n}

    def fit(self, X):
        raise KeyboardInterrupt


def test_held_out_rows_move_the_multipliers():
    """A net that knows its rows by heart shows no gap on them; the held-out ones do."""
    X, y, group = people(n=600, seed=3)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(600, 100))])
    fresh = people(n=6000, seed=4)
    unseen = np.hstack([fresh[0], np.random.default_rng(1).normal(size=(6000, 100))])
    gaps = {"train": [], "heldout": []}
    for signal, found in gaps.items():
        for seed in range(3):
            net = NetClassifier(
                dual_signal=signal, epochs=60, batch_size=64, heldout_size=0.4, lr=3e-3, random_state=seed
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ToleranceWarning)
                net.fit(X, y, sensitive_features=group)
            found.append(deo(fresh[1], net.predict(unseen), sensitive_features=fresh[2]).value)
    assert np.mean(gaps["heldout"]) < 0.7 * np.mean(gaps["train"])


def test_it_is_saved_and_read_back(tmp_path, compas):
    X, y, groups = compas
    net = NetClassifier(constraint=EqualOpportunity(tol=1.0), transformer=preprocess(X), epochs=2, random_state=0)
    net.fit(X, y, sensitive_features=groups)
    fairalm.save(net, tmp_path / "net.skops")
    again = fairalm.load(tmp_path / "net.skops")
    assert (again.predict_proba(X) == net.predict_proba(X)).all()
    pd.testing.assert_frame_equal(again.history_, net.history_)


def test_rows_without_a_group_are_left_out():
    X, y, group = people()
    named = np.array(["a", "b"], dtype=object)[group]
    named[:50] = None
    net = NetClassifier(constraint=EqualOpportunity(tol=1.0), missing="drop", epochs=2, random_state=0)
    net.fit(X, y, sensitive_features=named)
    kept = measure_all(y[50:], net.predict(X[50:]), sensitive_features=named[50:], train=True)
    assert net.error_ == pytest.approx(kept["error"].value)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"epochs": 0}, "`epochs` must be an integer, 1 or more; got 0"),
        ({"batch_size": 2.5}, "`batch_size` must be an integer"),
        ({"hidden": (8, 0)}, r"`hidden\[1\]` must be an integer, 1 or more; got 0"),
        ({"lr": -1.0}, "`lr` must be positive"),
        ({"dual_signal": "crossfit"}, "`dual_signal` must be 'train' or 'heldout'"),
        ({"heldout_size": 0.9}, "`heldout_size` must lie in"),
        ({"device": "quantum"}, "no device 'quantum'"),
        ({"method": fairalm.SecantALM()}, "Method for mini-batches"),
    ],
)
def test_settings_are_checked_before_any_work(settings, match):
    X, y, group = people(n=200)
    with pytest.raises(InputError, match=match):
        NetClassifier(**settings).fit(X, y, sensitive_features=group)


def test_data_is_checked():
    X, y, group = people(n=60)
    with pytest.raises(InputError, match="`sensitive_features` is missing"):
        NetClassifier().fit(X, y)
    with pytest.raises(InputError, match="has 59 rows"):
        NetClassifier().fit(X, y, sensitive_features=group[1:])
    with pytest.raises(InputError, match="y has 59 rows, X has 60"):
        NetClassifier().fit(X, y[1:], sensitive_features=group[1:])
    with pytest.raises(InputError, match=r"has no rows with y=1"):
        NetClassifier().fit(X, np.where(group == 0, 0, y), sensitive_features=group)
    with pytest.raises(ValueError, match="NaN"):
        NetClassifier().fit(np.where(X > 1, np.nan, X), y, sensitive_features=group)


def test_a_constraint_and_a_method_of_ones_own():
    X, y, group = people()
    net = NetClassifier(constraint=ErrorAndOpportunity(tol=1.0), method=L1Penalty(), epochs=2, random_state=0)
    net.fit(X, y, sensitive_features=group)
    wrong = net.predict(X) != y
    gaps = [abs(wrong[event & (group == 0)].mean() - wrong[event & (group == 1)].mean()) for event in (y >= 0, y == 1)]
    assert net.gap_ == pytest.approx(max(gaps))
    assert "train_error_and_opportunity" in net.history_


def test_threads_give_the_nets_of_one_after_the_other(monkeypatch):
    """Torch's random numbers are global: a thread must not draw those of another, however the threads take turns."""

    def make_slowly(*arguments):
        time.sleep(0.01)  # another thread's turn, between the seed and the weights
        return make_net(*arguments)

    monkeypatch.setattr("fairalm.nn.tabular.make_net", make_slowly)
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(60, 3)), np.repeat(["a", "b"], 30)
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)

    def fit(seed):
        net = NetClassifier(hidden=(8,), epochs=1, random_state=seed, constraint=EqualOpportunity(tol=1.0))
        return net.fit(X, y, sensitive_features=group).parameters_

    seeds = [seed % 4 for seed in range(32)]
    alone = {seed: fit(seed) for seed in set(seeds)}
    with ThreadPoolExecutor(8) as threads:
        for seed, parameters in zip(seeds, threads.map(fit, seeds), strict=True):
            for name, value in alone[seed].items():
                assert (parameters[name] == value).all()
