"""The laws of outcomes that people plan with: yes or no, measured values, or a mean with a spread."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bestarm.checks import one_of
from bestarm.errors import InputError
from bestarm.exact import exact
from bestarm.instance import Bernoulli, Beta, Empirical, Instance, RewardLaw, TruncatedNormal
from bestarm.outcomes import Outcomes

LAWS: Final = ("beta", "normal")


def laws_of(
    scale: Outcomes,
    means: tuple[float, ...] | None,
    law: str | None,
    sd: float | Sequence[float] | None,
    values: Sequence[Sequence[float]] | None,
) -> tuple[RewardLaw, ...]:
    """A law for every arm, on the scale from 0 to 1, larger being better; values and deviations in the outcome's units.

    Measured values are one arm's each, or one pilot's for all arms, moved to the means that are hoped for.
    """
    if values is not None:
        if law is not None or sd is not None:
            raise InputError("Measured values are a law by themselves; leave --law and --sd out.")
        measured = [
            Empirical([float(scale.to_unit(exact(value, "An outcome in the values"))) for value in column])
            for column in values
        ]
        if means is None:
            return tuple(measured)
        return tuple(measured[0] if mean == measured[0].mean else measured[0].with_mean(mean) for mean in means)
    assert means is not None
    if scale.binary:
        if law is not None or sd is not None:
            raise InputError("Outcomes of yes or no have no spread of their own; leave --law and --sd out.")
        return tuple(Bernoulli(mean) for mean in means)
    if law is None or sd is None:
        raise InputError(
            "Outcomes on a scale need their spread: --values FILE.csv with measured ones, or --law beta or normal "
            "with --sd."
        )
    if law not in LAWS:
        raise InputError(f"The law is {law!r}, but it has to be one of: {', '.join(LAWS)}.")
    each = [float(sd)] * len(means) if isinstance(sd, int | float) else [float(one) for one in sd]
    if len(each) == 1:
        each *= len(means)
    if len(each) != len(means):
        raise InputError(f"{len(each)} standard deviations for {len(means)} arms; give one, or one an arm.")
    kind = Beta if law == "beta" else TruncatedNormal
    return tuple(kind.of(mean, one / float(scale.width)) for mean, one in zip(means, each, strict=True))


def instance_of(
    means: Sequence[float] | None,
    *,
    outcomes: str,
    low: object,
    high: object,
    lower_is_better: bool,
    law: str | None,
    sd: Sequence[float] | None,
    values: Sequence[Sequence[float]] | None,
) -> tuple[Outcomes, Instance]:
    """The scale and the arms of a simulation, from means or measured values in the outcome's own units."""
    one_of("The kind of outcomes", outcomes, ("unit", "binary"))
    scale = Outcomes(low, high, outcomes == "binary", lower_is_better)  # type: ignore[arg-type]
    if means is None and (values is None or len(values) < 2):
        raise InputError("Give the arms' means with --means, or measured --values with a column that names the arm.")
    if means is not None and values is not None and len(values) > 1:
        raise InputError("These values have a law for every arm, and so means of their own; leave --means out.")
    unit = None if means is None else tuple(unit_mean(scale, mean) for mean in means)
    return scale, Instance(laws_of(scale, unit, law, sd, values))


def unit_mean(scale: Outcomes, mean: float) -> float:
    """A mean in the outcome's own units on the scale from 0 to 1, larger being better."""
    if scale.plain:
        return float(mean)  # its range is checked with the other means
    return float(f"{float(scale.between(exact(mean, 'The mean'), 'The mean')):.12g}")


def read_values(path: Path) -> tuple[list[str] | None, list[list[float]]]:
    """Measured outcomes from a CSV file: columns `arm` and `outcome`, one row a person, or `outcome` alone (a pilot).

    The arms' labels in the order in which they first come (None for a pilot), and the outcomes of each.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        names = [name.strip() for name in reader.fieldnames or ()]
        if "outcome" not in names:
            raise InputError(f"{path.name} has no column named outcome; its first line has to name its columns.")
        rows = [{str(key).strip(): value for key, value in row.items()} for row in reader]
    found: dict[str, list[float]] = {}
    for line, row in enumerate(rows, start=2):
        try:
            value = float(exact(row["outcome"], "The outcome"))
        except InputError as error:
            raise InputError(f"{path.name}, line {line}: {error}") from None
        found.setdefault(str(row.get("arm", "")).strip(), []).append(value)
    if not found:
        raise InputError(f"{path.name} holds no outcomes.")
    if "arm" not in names:
        return None, list(found.values())
    if len(found) < 2:
        raise InputError(f"{path.name} has one arm only; leave the column arm out if it is a pilot for all arms.")
    return list(found), list(found.values())
