"""A model file whose trees point outside of their arrays is refused; scikit-learn would read beyond them."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairalm import InputError
from fairalm.models_io import load, save
from fairalm.tree_checks import check_trees

CATEGORIES = ("functools.partial", "sklearn.utils.validation.check_array")  # boosting on categories needs them

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
X[:, 3] = rng.integers(0, 5, 400)
y = (X[:, 0] + (X[:, 3] == 2) > 0.3).astype(int)


def forest():
    return RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0).fit(X, y)


def boosted():
    return HistGradientBoostingClassifier(max_iter=3, categorical_features=[3], random_state=0).fit(X, y)


def set_nodes(tree, **fields):
    """Write into the node table of a scikit-learn tree: at the root."""
    state = tree.__getstate__()
    for name, value in fields.items():
        state["nodes"][name][0] = value
    tree.__setstate__(state)


@pytest.mark.parametrize("make", [forest, boosted], ids=["forest", "boosted"])
def test_sound_trees_pass(tmp_path, make):
    model = make()
    save(model, tmp_path / "model.skops")
    assert (load(tmp_path / "model.skops", trusted=CATEGORIES).predict(X) == model.predict(X)).all()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"left_child": 10**6}, r"tree of \d+ nodes refers to node 1000000"),
        ({"right_child": -7}, r"refers to node -7"),
        ({"left_child": 0}, "refers to node 0"),  # a circle: predict would never end
        ({"feature": 10**6}, "refers to feature 1000000 of 4"),
        ({"feature": -5}, "refers to feature -5"),
    ],
)
@pytest.mark.parametrize("kind", ["tree", "forest", "gradient boosting", "pipeline"])
def test_a_tree_that_points_outside_is_refused(tmp_path, kind, fields, message):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    if kind == "tree":
        model = tree.fit(X, y)
        inner = model
    elif kind == "forest":
        model = forest()
        inner = model.estimators_[2]
    elif kind == "gradient boosting":
        model = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, y)
        inner = model.estimators_[1, 0]
    else:
        model = make_pipeline(StandardScaler(), tree).fit(X, y)
        inner = model[-1]
    set_nodes(inner.tree_, **fields)
    save(model, tmp_path / "model.skops")
    with pytest.raises(InputError, match=message):
        load(tmp_path / "model.skops", trusted=CATEGORIES)


def test_a_forest_whose_trees_expect_other_features_is_refused(tmp_path):
    model = forest()
    model.estimators_[1].n_features_in_ = 10**6
    save(model, tmp_path / "model.skops")
    with pytest.raises(InputError, match="features of the whole"):
        load(tmp_path / "model.skops", trusted=CATEGORIES)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("left", 10**6, "refers to node 1000000"),
        ("right", 0, "refers to node 0"),
        ("feature_idx", 99, "refers to feature 99 of 4"),
        ("bitset_idx", 10**6, "categories that are not there"),
    ],
)
def test_a_boosted_tree_that_points_outside_is_refused(tmp_path, field, value, message):
    model = boosted()
    tree = next(tree for stage in model._predictors for tree in stage if tree.nodes["is_categorical"].any())
    tree.nodes[field][np.argmax(tree.nodes["is_categorical"])] = value
    save(model, tmp_path / "model.skops")
    with pytest.raises(InputError, match=message):
        load(tmp_path / "model.skops", trusted=CATEGORIES)


def test_a_boosted_model_that_misdescribes_its_categories_is_refused(tmp_path):
    model = boosted()
    model._bin_mapper.is_categorical_ = np.zeros(4, dtype=np.uint8)
    save(model, tmp_path / "model.skops")
    with pytest.raises(InputError, match="categories that are not there"):
        load(tmp_path / "model.skops", trusted=CATEGORIES)


def test_a_tree_that_claims_more_nodes_than_it_has_is_refused():
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    model.tree_.__setstate__({**model.tree_.__getstate__(), "node_count": 100_000})
    with pytest.raises(InputError, match="says that it has 100000 nodes"):
        check_trees(model)
