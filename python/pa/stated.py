"""What a file of figures without requests states: pa-stated/1 and pa-stated-diff/1."""

from dataclasses import dataclass
from typing import List, Optional

from ._json import Object

__all__ = ["Figure", "Level", "Result", "Stated", "FigurePair", "LevelPair", "StatedDiff"]


@dataclass(frozen=True)
class Figure(Object):
    """A number that a file states."""

    metric: str
    """The tool's own name."""
    text: str
    """The number with the digits of the file."""
    value: Optional[float] = None
    """None if the file leaves the number open."""
    statistic: Optional[str] = None
    """Such as mean or p99; None for a number that is no statistic of several values."""
    unit: Optional[str] = None


@dataclass(frozen=True)
class Level(Object):
    """A load level with its figures."""

    level: str
    figures: List[Figure]
    mode: Optional[str] = None
    value: Optional[str] = None


@dataclass(frozen=True)
class Result(Object):
    """What one file states."""

    file: str
    tool: str
    levels: List[Level]
    release: Optional[str] = None
    model: Optional[str] = None
    url: Optional[str] = None
    began: Optional[str] = None
    notes: Optional[List[str]] = None


@dataclass(frozen=True)
class Stated(Object):
    """What files of figures state, a result for each."""

    schema: str
    results: List[Result]


@dataclass(frozen=True)
class FigurePair(Object):
    """A figure that both sides have."""

    metric: str
    statistic: Optional[str] = None
    unit: Optional[str] = None
    old: Optional[float] = None
    new: Optional[float] = None
    change: Optional[float] = None
    """0.05 is 5 % more."""


@dataclass(frozen=True)
class LevelPair(Object):
    """A load level of both sides."""

    level: str
    figures: List[FigurePair]


@dataclass(frozen=True)
class StatedDiff(Object):
    """A comparison of figures, which has no interval and no verdict."""

    schema: str
    verdict: str
    why: str
    definitions: str
    old: str
    new: str
    levels: List[LevelPair]
    notes: Optional[List[str]] = None
