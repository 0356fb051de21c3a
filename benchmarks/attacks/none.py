"""No attack: what honest users meet, and what a defence costs them."""

from benchmarks.plugins import About, Attack

ATTACK = Attack(About("clean", "", "", "none"), lambda *_: ())
