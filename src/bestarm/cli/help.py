"""What `--help` shows besides options: commands grouped by who reads them, and an example for every one.

Kept in one table, so that a reader finds all examples together and a test can try each of them.
"""

from __future__ import annotations

from typing import Any, Final

import typer

PANELS: Final[dict[str, tuple[str, ...]]] = {
    "To plan a trial": ("plan", "simulate", "bounds", "algorithms", "replay", "demo"),
    "To run a trial": ("trial", "serve"),
    "To check what is promised": ("audit", "qualify"),
    "For research": ("reproduce", "threshold"),
}
"""The commands by reader; one that is in no panel stands in the first place, under no heading."""

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "plan": (
        "bestarm plan --arms 5 --difference 0.1 --base 0.3 --epsilon 1 --delta 0.05 --enrol 10 --follow-up 28d",
        "bestarm plan --means 0.45,0.35,0.3 --epsilon 0.5 --participants 2000 --figure cost.png",
        "bestarm plan --arms 3 --control placebo --difference 0.1 --base 0.3 --epsilon 1 --delta 0.05",
    ),
    "simulate": (
        "bestarm simulate --means 0.75,0.7,0.7 --epsilon 1 --runs 1000",
        "bestarm simulate --algorithm my_rules:mine --means 0.9,0.5 --epsilon 1 --out runs.parquet",
    ),
    "bounds": ("bestarm bounds --means 0.95,0.9,0.9,0.9,0.5 --epsilon 0.1 --delta 0.01",),
    "algorithms": ("bestarm algorithms",),
    "replay": ("bestarm replay trial.csv --arm group --outcome died --lower-is-better --epsilon 1 --difference 0.02",),
    "demo": ("bestarm demo", "bestarm demo --distributed"),
    "serve": ("bestarm serve --store trials.db --port 8000",),
    "audit": (
        "bestarm audit --epsilon 1 --follow-up 30d",
        "bestarm audit --privacy shuffle --epsilon 1 --privacy-delta 0.000001",
    ),
    "qualify": ("bestarm qualify --out qualification",),
    "reproduce": ("bestarm reproduce --quick", "bestarm reproduce --figure followup --runs 100 --out out/followup"),
    "threshold": ("bestarm threshold --k1 9 --k2 9 --n 128 --m 128 --arms 5 --epsilon 1 --delta 0.01",),
    "trial create": (
        "bestarm trial create dose.db --name dose --arms 5mg,10mg,20mg --epsilon 1 --delta 0.05 --follow-up 30d",
        "bestarm trial create d.db --name d --arms water,5mg --control water --difference 0.1 --epsilon 1 --delta 0.05",
    ),
    "trial ask": ("bestarm trial ask dose.db --name dose --subject p-001",),
    "trial tell": ("bestarm trial tell dose.db --name dose --assignment 1-3fa9 --outcome 1",),
    "trial tell-csv": ("bestarm trial tell-csv dose.db --name dose --file outcomes.csv",),
    "trial open": ("bestarm trial open dose.db --name dose",),
    "trial look-up": ("bestarm trial look-up dose.db --name dose --subject p-001",),
    "trial withdraw": ("bestarm trial withdraw dose.db --name dose --assignment 1-3fa9",),
    "trial correct": (
        "bestarm trial correct dose.db --name dose --assignment 1-3fa9 --outcome 0 --reason 'typed wrong'",
    ),
    "trial relabel": (
        "bestarm trial relabel dose.db --name dose --assignment 1-3fa9 --subject p-010 --reason 'mistyped code'",
    ),
    "trial void": (
        "bestarm trial void dose.db --name dose --assignment 9-77c0 --duplicate-of p-001 --reason 'entered twice'",
    ),
    "trial pause": ("bestarm trial pause dose.db --name dose --reason 'safety board meets'",),
    "trial resume": ("bestarm trial resume dose.db --name dose --reason 'cleared'",),
    "trial end": ("bestarm trial end dose.db --name dose --reason 'safety'",),
    "trial status": ("bestarm trial status dose.db --name dose --json",),
    "trial verdict": ("bestarm trial verdict dose.db --name dose",),
    "trial ledger": ("bestarm trial ledger dose.db --name dose",),
    "trial report": ("bestarm trial report dose.db --name dose --out report",),
    "trial verify": ("bestarm trial verify dose.db --name dose",),
    "trial verify-public": ("bestarm trial verify-public public",),
    "trial list": ("bestarm trial list dose.db",),
    "trial delete": ("bestarm trial delete dose.db --name dose",),
    "trial export-public": ("bestarm trial export-public dose.db --name dose --out public",),
    "trial export-confidential": ("bestarm trial export-confidential dose.db --name dose --out confidential",),
}
"""By the words of the command."""


HELP: Final = ("-h", "--help")


def arrange(app: typer.Typer, path: str = "") -> None:
    """Give every command its panel and its examples."""
    panel_of = {name: panel for panel, names in PANELS.items() for name in names}
    for command in app.registered_commands:
        words = f"{path} {command.name}".strip()
        command.rich_help_panel = panel_of.get(words, command.rich_help_panel)
        if words in EXAMPLES:
            command.epilog = "Example:\n\n" + "\n\n".join(EXAMPLES[words])
    for group in app.registered_groups:
        if group.typer_instance is not None and group.name is not None:
            group.rich_help_panel = panel_of.get(group.name, group.rich_help_panel)
            arrange(group.typer_instance, group.name)


def quiet(command: Any) -> Any:
    """The same command without `<bool>` behind every switch and a type behind every argument's name."""
    for parameter in command.params:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument":
            parameter.display_type_rich = _no_type
    option = command.get_help_option(command.context_class(command, help_option_names=list(HELP)))
    if option is not None:
        option.metavar = ""
    for inner in getattr(command, "commands", {}).values():
        quiet(inner)
    return command


def _no_type(ctx: Any) -> None:
    return None
