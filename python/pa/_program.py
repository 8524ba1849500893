"""Runs pa-analyze."""

import os
import shutil
import subprocess
import sys
import sysconfig
import warnings
from typing import Any, List, Optional


class Error(Exception):
    """pa-analyze refused, with its message."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """1: not readable or not comparable, 2: wrong flags."""


class Warning(UserWarning):
    """What pa-analyze said beside its result: a warning, what a broken file lacks, a gate that failed."""


def program() -> str:
    """Returns the path of pa-analyze: the one that was installed with this package, else the one in PATH."""
    name = "pa-analyze.exe" if os.name == "nt" else "pa-analyze"
    for scheme in [None, "posix_user" if os.name == "posix" else "nt_user"]:
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    found = shutil.which("pa-analyze")
    if found is None:
        raise Error("the program pa-analyze is not installed: pip install pa-analyze brings it with this package", 127)
    return found


def flags(options: Any) -> List[str]:
    """Returns the flags of keyword arguments: steady_state=True is --steady-state, a list repeats the flag."""
    all: List[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if flag in ("--format", "--output", "--overwrite", "--names"):
            raise TypeError(flag + " is chosen by this package; drop " + name)
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is True:
                all.append(flag)
            elif v is not None:
                all.append(flag + "=" + ("false" if v is False else os.fspath(v) if isinstance(v, os.PathLike) else str(v)))
    return all


def file(path: Any) -> str:
    """Returns the name of a file as an argument that is no flag and not standard input."""
    name: str = os.fspath(path)
    return os.path.join(".", name) if name.startswith("-") else name


def run(args: List[str], output: Optional[str] = None) -> bytes:
    """Runs pa-analyze and returns what it prints, or writes into output. It raises Error if there is no result."""
    done = subprocess.run([program(), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    said = done.stderr.decode("utf-8", "replace").strip().replace("\npa-analyze: ", "\n")
    said = said[len("pa-analyze: ") :] if said.startswith("pa-analyze: ") else said
    if done.returncode != 0 and not (done.stdout or (output and os.path.exists(output))):
        raise Error(said, done.returncode)
    if said:
        warnings.warn(said.replace("warning: ", "", 1) if said.startswith("warning: ") else said, Warning, stacklevel=_callers_level())
    return done.stdout


def _callers_level() -> int:
    """Returns how many frames run's caller is away from the first one outside this package, as warnings count them."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in (__package__, "functools"):
        level, frame = level + 1, frame.f_back
    return level
