"""One altered input: it is drawn, given to the program, and the program's answer is judged."""

from __future__ import annotations

import hashlib
import io
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

REFUSED = 2  # exit code


class Failed(Exception):
    """The program failed; the first argument is a kind of ``outcome.FAILURES``, the second says how."""


class Case:
    """What the function of a kind of input needs: a generator, the intact files, an empty folder, and the program.

    The same seed, kind and number give the same input.
    """

    def __init__(self, kind: str, number: int, seed: int, seeds: Path, folder: Path) -> None:
        self.rng = Random(f"{seed} {kind} {number}")
        self.seeds, self.folder = seeds, folder
        self.tried: list[str] = []  # for whoever replays it
        self.error: BaseException | None = None

    def copied(self, name: str) -> Path:
        """A copy of an intact file or folder."""
        source, target = self.seeds / name, self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.html", "*.png"))
        else:
            shutil.copyfile(source, target)
        return target

    def write(self, file: Path, content: bytes, *, digest_of: Path | None = None) -> None:
        """Replace a file; with `digest_of`, a folder, as one would who rewrites its manifest too."""
        before = hashlib.sha256(file.read_bytes()).hexdigest().encode() if file.is_file() else b""
        file.write_bytes(content)
        if digest_of is not None and before:
            manifest = digest_of / "manifest.json"
            after = hashlib.sha256(content).hexdigest().encode()
            manifest.write_bytes(manifest.read_bytes().replace(before, after))

    def command(self, *arguments: str) -> int:
        """The exit code of a command, which runs in this process and in the case's folder."""
        from fairalm.cli import app

        self.tried.append(f"fairalm {' '.join(arguments)}"[:2000])
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace") for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            try:
                app(list(arguments), prog_name="fairalm")
                code: Any = 0
            except SystemExit as end:
                code = end.code or 0
            except BaseException as error:
                raise Failed("traceback", describe(error)) from error
        said = ""
        for stream in (out, err):
            stream.flush()
            stream.seek(0)
            said += stream.read()
        if code not in (0, REFUSED) or "Traceback (most recent call last)" in said:
            raise Failed("traceback", f"exit code {code}: {said[-300:]}")
        return int(code)

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """What a function of the package returns; None if it refuses the input in a sentence."""
        from fairalm import InputError

        self.tried.append(f"{function.__module__}.{function.__qualname__}{arguments}"[:2000])
        try:
            return function(*arguments, **named)
        except InputError:
            return None
        except OSError as error:
            if error.filename and error.strerror:  # the command line makes a sentence of it
                return None
            raise Failed("traceback", describe(error)) from error
        except ImportError as error:
            if "pip install" in str(error):
                return None
            raise Failed("traceback", describe(error)) from error
        except Exception as error:
            raise Failed("traceback", describe(error)) from error


def describe(error: BaseException) -> str:
    """An error's type, where in the package it was raised, and its first line."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/fairalm/" in frame.filename]
    frame = own[-1] if own else frames[-1]
    place = f"{frame.filename.rpartition('/fairalm/')[2]}:{frame.lineno}"
    message = (str(error).splitlines() or [""])[0][:160].encode("ascii", "backslashreplace").decode()
    return f"{type(error).__name__} at {place}: {message}"


def run_case(function: Callable[[Case], None], case: Case) -> tuple[str, str] | None:
    """Run a case in its folder; the kind of failure and how it shows, or None."""
    try:
        function(case)
    except Failed as failure:
        case.error = failure.__cause__
        return failure.args[0], failure.args[1]
    except Exception as error:
        case.error = error
        return "traceback", f"in the attack itself: {describe(error)}"
    finally:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return None
