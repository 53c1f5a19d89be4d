"""Noise from everybody, and two servers that each hold half: no store ever sees an outcome.

`SplitTrial` is the participants' side, `Halves` what one server keeps. The trial itself (who is assigned what, when a
stage is full, what follows from a release) runs as ever, on one of the two servers or elsewhere. What each party sees
and must be trusted with is on docs/regimes.md.
"""

from bestarm.distributed.halves import HalfServer, Halves
from bestarm.distributed.split_trial import Gathered, SplitTrial, new_key

__all__ = ["Gathered", "HalfServer", "Halves", "SplitTrial", "new_key"]
