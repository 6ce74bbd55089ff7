"""Two real processes with half a batch each follow one process with the whole batch."""

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
    ("rule", "how", "window"),
    [("augmented", "mixed", 0), ("augmented", "apart", 0), ("fairalm", "apart", 5), ("proxy-lagrangian", "mixed", 5)],
)
def test_two_ranks_follow_one(rule, how, window, tmp_path, torchrun):
    path = tmp_path / "result.pt"
    done = torchrun(SCRIPT, rule, how, window, path)
    assert done.returncode == 0, done.stderr[-2000:]
    both = torch.load(path, weights_only=True)
    one = alone(rule, how, window)
    torch.testing.assert_close(both["duals"][0], both["duals"][1], rtol=0, atol=0)
    for name, value in one.items():
        torch.testing.assert_close(both[name], value, rtol=0, atol=1e-5)
    assert abs(one["dual"]).max() > 0.01, "the multipliers must have moved for this to mean anything"
