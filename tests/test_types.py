"""A user's mypy sees our types."""

import subprocess
import sys

import pytest

pytest.importorskip("mypy")
USER = """
from fairalm import FairALMClassifier

FairALMClassifier(max_iter="many")
"""


@pytest.mark.slow
def test_a_user_sees_our_types(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", tmp_path / "cache", "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert 'user.py:4: error: Argument "max_iter" to "FairALMClassifier" has incompatible type "str"' in done.stdout
    assert "Found 1 error in 1 file" in done.stdout
