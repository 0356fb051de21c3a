"""What to do once an attack is confirmed: take its passages out, and put a right answer in."""

from ragguard.repair.enhancement import Enhancer
from ragguard.repair.removable import Removable, as_removable
from ragguard.repair.removal import Removal, Standing, look_up, remove_quarantined
from ragguard.repair.restoration import known_metadata, restore

__all__ = [
    "Enhancer",
    "Removable",
    "Removal",
    "Standing",
    "as_removable",
    "known_metadata",
    "look_up",
    "remove_quarantined",
    "restore",
]
