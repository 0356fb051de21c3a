"""Another guard of the same settings: what `pickle` and `copy` make of one."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from ragguard.audit.memory import MemoryStore
from ragguard.errors import InvalidInputError

if TYPE_CHECKING:
    from ragguard.guard import Guard

__all__ = ["pickled", "twin"]

G = TypeVar("G", bound="Guard")


def pickled(guard: Guard) -> tuple[Any, ...]:
    """Return what `pickle` makes a guard from: its class and settings, no threads or locks.

    Raises:
        InvalidInputError: The store is an object that cannot be pickled.
    """
    settings = _settings(guard)
    store = settings["store"]
    if not isinstance(store, (str, PathLike)):
        try:
            pickle.dumps(store)
        except Exception as error:  # whatever the store is made of
            raise InvalidInputError(
                f"a guard on a {type(store).__name__} object cannot be pickled ({error}); make it "
                "with the store's URL, Guard(store=URL), which the copy opens for itself"
            ) from error
    return _remake, (type(guard), settings, guard._calibrator.gated)


def twin(guard: G, memo: dict[int, Any]) -> G:
    """Return another guard that shares every object that this one was given.

    Models and stores are no data, so `copy.deepcopy` shares them, too; `memo` is its own, for what
    else refers to them.
    """
    memo.update({id(value): value for value in guard._settings.values()})
    return _remake(type(guard), _settings(guard), guard._calibrator.gated)


def _settings(guard: Guard) -> dict[str, Any]:
    """Return the arguments of a guard as they are now, with the calibration it has adopted."""
    in_memory = isinstance(guard.store, MemoryStore)
    store = guard.store if in_memory else guard._settings["store"]
    return {**guard._settings, "store": store, "calibration": guard._calibrator.adopted}


def _remake(kind: type[G], settings: Mapping[str, Any], gated: bool) -> G:
    return kind(**settings) if gated else kind.ragdefender(**settings)
