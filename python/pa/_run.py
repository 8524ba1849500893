"""Runs as objects."""

import functools
import importlib.util
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Union

from . import _program
from .diff import Diff
from .report import Report
from .stated import Stated
from .stated_diff import StatedDiff

if TYPE_CHECKING:
    import pandas
    import pyarrow

Path = Union[str, "os.PathLike[str]"]


def read(path: Path, **flags: Any) -> "Run":
    """Returns the run in a file, of pa-record or of another tool. pa-analyze reads it when a part of it is first asked for.

    Flags of pa-analyze about how to read and count apply to all that the run gives: tokenizer="built-in" is
    --tokenizer=built-in, beside=True is --beside.
    """
    return Run(path, **flags)


class Run:
    """A recorded run. All that it gives is computed by pa-analyze; what pa-analyze refuses raises Error with its message."""

    def __init__(self, path: Path, **flags: Any) -> None:
        self.path: str = _program.file(path)
        self.flags: Dict[str, Any] = flags

    def __repr__(self) -> str:
        return "pa.read(" + ", ".join([repr(self.path)] + [f"{k}={v!r}" for k, v in self.flags.items()]) + ")"

    @functools.cached_property
    def report(self) -> Report:
        """The report: pa-analyze report."""
        return self.report_with()

    def report_with(self, **flags: Any) -> Report:
        """Returns the report with more flags: slo="ttft<=200ms", metrics="quality,economics", steady_state=True."""
        return Report.from_json(self._one("pa-report/1", self._json("report", [self.path], flags), "stated"))

    @functools.cached_property
    def stated(self) -> Stated:
        """The figures of a file that keeps no requests, as its tool states them."""
        return Stated.from_json(self._one("pa-stated/1", self._json("report", [self.path], {}), "report"))

    @functools.cached_property
    def requests(self) -> "pandas.DataFrame":
        """The requests, a row each: a DataFrame; a pyarrow.Table without pandas.

        The columns are the columns of a converted file without its lists. Rows with a reason do not count. Without pyarrow
        the columns are the columns of pa-analyze requests, and without pandas, too, the rows are a list of dicts.
        """
        if not _installed("pyarrow"):
            lines = _program.run(["requests", *_program.flags(self.flags), "--format=jsonl", "--output=-", self.path])
            rows: "pandas.DataFrame" = _rows([json.loads(line) for line in lines.splitlines()])
            return rows
        import pyarrow.parquet
        import pyarrow.types

        file = pyarrow.parquet.ParquetFile(self._parquet)
        names = [f.name for f in file.schema_arrow if not pyarrow.types.is_nested(f.type)]
        frame: "pandas.DataFrame" = _frame(file.read(columns=names))
        return frame

    @functools.cached_property
    def tokens(self) -> "pandas.DataFrame":
        """The token events, a row each: a DataFrame; a pyarrow.Table without pandas. It needs pyarrow.

        request is the row in requests, event counts from 0 in the order of arrival, recv_ns is the time of arrival,
        since_start_ns the time since the request's start_ns, tokens the number of tokens, null if it is not known.
        """
        if not _installed("pyarrow"):
            raise _program.Error("tokens are read from Parquet, which needs pyarrow: pip install pyarrow", 127)
        from ._tokens import tokens

        frame: "pandas.DataFrame" = _frame(tokens(self._parquet))
        return frame

    @functools.cached_property
    def table(self) -> "pyarrow.Table":
        """All columns of the requests, with lists of what each response held: pa-analyze convert FILE OUT.parquet."""
        import pyarrow.parquet

        return pyarrow.parquet.read_table(self._parquet)

    def diff(self, other: Union["Run", Path], **flags: Any) -> Diff:
        """Returns what changed from this run to the other one: pa-analyze diff, with more flags such as single_run=True."""
        return Diff.from_json(self._one("pa-diff/1", self._diff(other, flags), "diff_stated"))

    def diff_stated(self, other: Union["Run", Path], **flags: Any) -> StatedDiff:
        """Returns what changed, if one of the files keeps figures and no requests."""
        return StatedDiff.from_json(self._one("pa-stated-diff/1", self._diff(other, flags), "diff"))

    def _diff(self, other: Union["Run", Path], flags: Dict[str, Any]) -> Any:
        if not isinstance(other, Run):
            other = Run(other)
        elif other.flags and other.flags != self.flags:
            raise ValueError(f"the runs are read with different flags, {self.flags} and {other.flags}; read both with the same")
        return self._json("diff", [self.path, other.path], flags)

    def _json(self, command: str, files: List[str], flags: Dict[str, Any]) -> Any:
        return json.loads(_program.run([command, *_program.flags({**self.flags, **flags}), "--format=json", "--output=-", *files]))

    def _one(self, schema: str, document: Any, instead: str) -> Dict[str, Any]:
        """Returns a document of a schema."""
        if isinstance(document, list):
            raise ValueError(f"{self.path} names {len(document)} runs; read each of them")
        found: Dict[str, Any] = document
        if found["schema"] != schema:
            raise ValueError(f"{self.path}: the program gives {found['schema']}, not {schema}; use .{instead}")
        return found

    @functools.cached_property
    def _parquet(self) -> str:
        """The run as a Parquet file, which is removed with the object."""
        self._folder = tempfile.TemporaryDirectory(prefix="pa-")
        out = os.path.join(self._folder.name, "run.parquet")
        _program.run(["convert", *_program.flags(self.flags), self.path, out], out)
        return out


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _frame(table: "pyarrow.Table") -> Any:
    """Returns a table as a DataFrame, with integers as they are; the table itself without pandas."""
    if not _installed("pandas"):
        return table
    import pandas

    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def _rows(rows: List[Dict[str, Any]]) -> Any:
    """Returns rows as a DataFrame, with integers as they are; the rows themselves without pandas."""
    if not _installed("pandas"):
        return rows
    import pandas

    names = dict.fromkeys(name for row in rows for name in row)
    return pandas.DataFrame({name: pandas.array([row.get(name) for row in rows]) for name in names})
