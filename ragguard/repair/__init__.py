"""What to do once an attack is confirmed: take its passages out, and put a right answer in."""

from ragguard.repair.enhancement import Enhancer
from ragguard.repair.removal import Removable, Removal, as_removable, remove_quarantined, restore

__all__ = ["Enhancer", "Removable", "Removal", "as_removable", "remove_quarantined", "restore"]
