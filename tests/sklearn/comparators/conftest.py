import numpy as np
import pytest

from fairalm.datasets import load_compas, preprocess


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Without the extra that a comparator needs, its tests are skipped; those of the message about it are not."""
    try:
        return (yield)
    except ImportError as error:
        if "fairalm[compare]" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def compas():
    data = load_compas()
    X = data.features_frame(with_protected=True)
    return preprocess(X).fit_transform(X), data.y, data.groups.to_numpy()


@pytest.fixture
def people():
    """The second group has more positives, and a feature that says so."""

    def draw(n=400, seed=0, n_groups=2):
        rng = np.random.default_rng(seed)
        group = np.arange(n) % n_groups
        y = (rng.random(n) < np.where(group > 0, 0.5, 0.3)).astype(int)
        return np.stack([1.2 * y + rng.normal(size=n), (group > 0) + 0.5 * y + rng.normal(size=n)], axis=1), y, group

    return draw
