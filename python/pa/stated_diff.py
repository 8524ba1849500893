# Made from schemas/stated-diff.schema.json by tools/pytypes; do not edit.
"""What pa-analyze diff --format json writes if a side holds figures only. Changes are ratios: 0.05 is five percent. There are no intervals, and never a verdict."""

from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional, Union

from ._json import Object

__all__ = [
    "StatedDiffLevelsFigures",
    "StatedDiffLevels",
    "StatedDiff",
]


@dataclass(frozen=True)
class StatedDiffLevelsFigures(Object):
    metric: str
    statistic: Optional[str] = None
    unit: Optional[str] = None
    old: Optional[float] = None
    new: Optional[float] = None
    change: Optional[float] = None
    """(new − old) / old; absent without both numbers, or if old is 0."""


@dataclass(frozen=True)
class StatedDiffLevels(Object):
    level: str
    figures: List["StatedDiffLevelsFigures"]
    """The figures that both files state."""


@dataclass(frozen=True)
class StatedDiff(Object):
    """What pa-analyze diff --format json writes if a side holds figures only. Changes are ratios: 0.05 is five percent. There are no intervals, and never a verdict."""

    schema: str
    verdict: str
    why: str
    """Why there is no verdict."""
    definitions: str
    """The tool whose definitions the figures of both sides have."""
    old: str
    """The file."""
    new: str
    levels: List["StatedDiffLevels"]
    notes: Optional[List[str]] = None
    """What differs besides the figures, and what only one side has."""
