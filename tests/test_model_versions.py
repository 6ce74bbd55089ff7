"""Models saved with the oldest scikit-learn predict the same here; those of unknown versions are refused first."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fairalm import InputError
from fairalm.models_io import ABOUT, SCHEMA, load, save
from tools import versions

SAVED = sorted((Path(__file__).parent / "models").glob("*.skops"))
X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 1, 0])


def rewrite(path, name, change):
    """Replace one member of a model file."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        for member in old.namelist():
            kept = old.read(member)
            new.writestr(member, change(kept) if member == name else kept)
    path.write_bytes(content.getvalue())


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_model_of_the_oldest_version_predicts_the_same(path):
    if path.stem.startswith("net"):
        pytest.importorskip("torch")
    assert json.loads(path.with_suffix(".json").read_text())["scikit-learn"].startswith("1.7.")
    assert versions.compare(path) < 1e-9


def test_every_model_of_the_command_line_is_among_them():
    assert {path.stem for path in SAVED} == {f"{predictor}-{name}" for predictor, name in versions.MODELS}


@pytest.mark.parametrize("version", ["1.6.1", "1.10.0", "2.0"])
def test_a_version_that_was_not_compared_is_refused(tmp_path, version):
    save(LogisticRegression().fit(X, y), tmp_path / "model.skops")
    rewrite(tmp_path / "model.skops", ABOUT, lambda _: json.dumps({"scikit-learn": version}))
    with pytest.raises(InputError, match=rf"scikit-learn {version} and this is .*Install scikit-learn=={version}, or"):
        load(tmp_path / "model.skops")


def test_a_tree_with_more_outputs_than_classes_is_refused_before_it_is_made(tmp_path):
    save(DecisionTreeClassifier().fit(X, y), tmp_path / "model.skops")

    def more_outputs(schema):
        content = json.loads(schema)
        content["content"]["content"]["tree_"]["__reduce__"]["args"]["content"][2]["content"] = str(10**9)
        return json.dumps(content)

    rewrite(tmp_path / "model.skops", SCHEMA, more_outputs)
    with pytest.raises(InputError, match="1000000000 outputs; there are 1"):
        load(tmp_path / "model.skops")


def test_a_sparse_matrix_that_points_outside_is_refused(tmp_path):
    model = LogisticRegression().fit(X, y).sparsify()
    model.coef_ = scipy.sparse.csr_matrix(model.coef_)
    model.coef_.indices[0] = 10**6
    save(model, tmp_path / "model.skops")
    with pytest.raises(InputError, match=r"index|indices"):
        load(tmp_path / "model.skops", trusted=["scipy.sparse._csr.csr_matrix"])


def test_miscounted_support_vectors_are_refused(tmp_path):
    model = SVC().fit(X, y)
    save(model, tmp_path / "model.skops")
    assert (load(tmp_path / "model.skops").predict(X) == model.predict(X)).all()
    model._n_support = np.array([-4, 4 + model._n_support.sum()], dtype=np.int32)
    save(model, tmp_path / "model.skops")
    with pytest.raises(InputError, match="support vectors"):
        load(tmp_path / "model.skops")
