"""Drives policies over simulated people: fast, seeded, parallel."""

from bestarm.simulation.life import Life
from bestarm.simulation.results import Results, Summary
from bestarm.simulation.runs import (
    DEFAULT_MAX_SAMPLES,
    Progress,
    Scenario,
    make_scenario,
    one_cap,
    run_scenario,
    scenario_of,
    simulate,
)

__all__ = [
    "DEFAULT_MAX_SAMPLES",
    "Life",
    "Progress",
    "Results",
    "Scenario",
    "Summary",
    "make_scenario",
    "one_cap",
    "run_scenario",
    "scenario_of",
    "simulate",
]
