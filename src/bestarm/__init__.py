"""Find the best of several options with a proven error rate and proven differential privacy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bestarm._version import __version__

if TYPE_CHECKING:
    from bestarm.client import Client
    from bestarm.design import Design, Outcomes, Privacy
    from bestarm.errors import BestArmError, InputError, OperationError
    from bestarm.instance import Bernoulli, Beta, Empirical, Instance, TruncatedNormal
    from bestarm.planning import OperatingCharacteristics, Plan, Replay, operating_characteristics, plan, replay
    from bestarm.policy.algorithm import Algorithm, Batched, Staged
    from bestarm.policy.catalogue import wrap
    from bestarm.progress import ProgressBar
    from bestarm.rules import rule
    from bestarm.simulation import Results, simulate
    from bestarm.simulation.sweep import sweep
    from bestarm.theory import Bounds, bounds
    from bestarm.trial.identity import Participant
    from bestarm.trial.trial import Trial

_HOME = {
    "Client": "bestarm.client",
    "BestArmError": "bestarm.errors",
    "InputError": "bestarm.errors",
    "OperationError": "bestarm.errors",
    "Bernoulli": "bestarm.instance",
    "Beta": "bestarm.instance",
    "Empirical": "bestarm.instance",
    "Instance": "bestarm.instance",
    "TruncatedNormal": "bestarm.instance",
    "Algorithm": "bestarm.policy.algorithm",
    "Batched": "bestarm.policy.algorithm",
    "Staged": "bestarm.policy.algorithm",
    "Design": "bestarm.design",
    "Outcomes": "bestarm.design",
    "Privacy": "bestarm.design",
    "wrap": "bestarm.policy.catalogue",
    "ProgressBar": "bestarm.progress",
    "rule": "bestarm.rules",
    "OperatingCharacteristics": "bestarm.planning",
    "operating_characteristics": "bestarm.planning",
    "Plan": "bestarm.planning",
    "plan": "bestarm.planning",
    "Replay": "bestarm.planning",
    "replay": "bestarm.planning",
    "Results": "bestarm.simulation",
    "simulate": "bestarm.simulation",
    "sweep": "bestarm.simulation.sweep",
    "Bounds": "bestarm.theory",
    "bounds": "bestarm.theory",
    "Participant": "bestarm.trial.identity",
    "Trial": "bestarm.trial.trial",
}
"""Where each public name lives; it is imported when first used, so that `import bestarm` stays quick."""

__all__ = [
    "Algorithm",
    "Batched",
    "Bernoulli",
    "BestArmError",
    "Beta",
    "Bounds",
    "Client",
    "Design",
    "Empirical",
    "InputError",
    "Instance",
    "OperatingCharacteristics",
    "OperationError",
    "Outcomes",
    "Participant",
    "Plan",
    "Privacy",
    "ProgressBar",
    "Replay",
    "Results",
    "Staged",
    "Trial",
    "TruncatedNormal",
    "__version__",
    "bounds",
    "operating_characteristics",
    "plan",
    "replay",
    "rule",
    "simulate",
    "sweep",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bestarm' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
