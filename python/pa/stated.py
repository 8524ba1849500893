# Made from schemas/stated.schema.json by tools/pytypes; do not edit.
"""What pa-analyze report --format json and convert write for files of other tools that hold figures only. Figures have the names, units and digits of their tool. A number that the file leaves open has no value."""

from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional, Union

from ._json import Object

__all__ = [
    "StatedResults",
    "Stated",
    "LevelSettings",
    "LevelFigures",
    "Level",
]


@dataclass(frozen=True)
class StatedResults(Object):
    file: str
    tool: str
    """The tool whose definitions the figures have."""
    levels: List["Level"]
    release: Optional[str] = None
    model: Optional[str] = None
    url: Optional[str] = None
    """Of the server."""
    began: Optional[str] = None
    """When the run began, as the file writes it."""
    notes: Optional[List[str]] = None


@dataclass(frozen=True)
class Stated(Object):
    """What pa-analyze report --format json and convert write for files of other tools that hold figures only. Figures have the names, units and digits of their tool. A number that the file leaves open has no value."""

    schema: str
    results: List["StatedResults"]
    """One for each file."""


@dataclass(frozen=True)
class LevelSettings(Object):
    name: str
    value: str


@dataclass(frozen=True)
class LevelFigures(Object):
    metric: str
    text: str
    """The number with the digits of the file, or n/a."""
    statistic: Optional[str] = None
    """mean, p99, …; absent for a number that is no statistic of several values."""
    value: Optional[float] = None
    """Absent if the file has no number."""
    unit: Optional[str] = None


@dataclass(frozen=True)
class Level(Object):
    level: str
    """For people: the load, and the settings that tell the level from others of its file. Empty if the file states neither."""
    settings: List["LevelSettings"]
    """The other settings that the file states."""
    figures: List["LevelFigures"]
    mode: Optional[str] = None
    """concurrency, request_rate or another; absent if the file does not state it."""
    value: Optional[str] = None
