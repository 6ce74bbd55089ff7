"""Two real processes with half a batch each follow one process with the whole batch.

With the default method they also do if each half comes in two parts whose gradients accumulate under ``no_sync``: its
weights stay the same from one dual step to the next. A method that takes them from each batch sees other batches then.
"""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

SCRIPT = Path(__file__).with_name("ranks.py")


def alone(*settings):
    spec = importlib.util.spec_from_file_location("ranks", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.train(*settings)


@pytest.mark.parametrize(
    ("rule", "how", "window", "accumulate"),
    [
        ("augmented", "mixed", 0, 1),
        ("augmented", "apart", 0, 1),
        ("fairalm", "apart", 5, 1),
        ("proxy-lagrangian", "mixed", 5, 1),
        ("pi-control", "apart", 20, 2),
    ],
)
def test_two_ranks_follow_one(rule, how, window, accumulate, tmp_path, torchrun):
    path = tmp_path / "result.pt"
    done = torchrun(SCRIPT, rule, how, window, accumulate, path)
    assert done.returncode == 0, done.stderr[-2000:]
    both = torch.load(path, weights_only=True)
    one = alone(rule, how, window)
    torch.testing.assert_close(both["duals"][0], both["duals"][1], rtol=0, atol=0)
    for name, value in one.items():
        torch.testing.assert_close(both[name], value, rtol=0, atol=1e-5)
    assert abs(one["dual"]).max() > 0.01, "the multipliers must have moved for this to mean anything"
