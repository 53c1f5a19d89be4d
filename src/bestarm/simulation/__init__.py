"""Drives policies over simulated people: fast, seeded, parallel."""

from bestarm.simulation.results import Results, Summary
from bestarm.simulation.runs import Progress, Scenario, make_scenario, run_scenario, simulate

__all__ = ["Progress", "Results", "Scenario", "Summary", "make_scenario", "run_scenario", "simulate"]
