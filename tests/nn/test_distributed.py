"""Two real processes with half a batch each follow one process with the whole batch.

With the default method they also do if each half comes in two parts whose gradients accumulate under ``no_sync``: its
weights stay the same from one dual step to the next. A method that takes them from each batch sees other batches then.
"""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

SCRIPT = Path(__file__).with_name("ranks.py")


SPEC = importlib.util.spec_from_file_location("ranks", SCRIPT)
RANKS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(RANKS)


@pytest.mark.slow
def test_two_ranks_follow_one(tmp_path, torchrun):
    done = torchrun(SCRIPT, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    for name, (method, how, window, _) in RANKS.SETTINGS.items():
        both, one = torch.load(tmp_path / f"{name}.pt", weights_only=True), RANKS.train(method, how, window)
        torch.testing.assert_close(both["duals"][0], both["duals"][1], rtol=0, atol=0)
        for key, value in one.items():
            torch.testing.assert_close(both[key], value, rtol=0, atol=1e-5)
        assert abs(one["dual"]).max() > 0.01, "the multipliers must have moved for this to mean anything"
