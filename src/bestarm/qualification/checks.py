"""The checks that matter: dependencies, exact samplers, the price of bets, reference numbers, trials replayed.

Each returns what it found, in words and numbers, and whether that is as expected. None needs more than the installed
package; together they take a few minutes, most of it compiling.
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import as_file, files
from itertools import accumulate
from pathlib import Path
from typing import Final, TypeAlias

Found: TypeAlias = tuple[str, bool]

FALSE_ALARM: Final = 1e-7
"""A true claim fails a statistical check with at most this chance."""
CLEARLY: Final = 1e-9
DRAWS: Final = 20_000
FROZEN: Final = "frozen.db"
"""A trial that was written when this version was made; no later change of the code may read it otherwise."""


def dependencies() -> Found:
    """Every package that is needed is there, and not older than the oldest that was tested."""
    try:
        needed = [one for one in requires("bestarm") or [] if "extra ==" not in one]
    except PackageNotFoundError:
        return "bestarm runs from its sources and was not installed, so what it needs cannot be looked up", False
    old = []
    for requirement in needed:
        name, _, least = re.split(r"(>=)", requirement.split(";")[0].strip() + ">=0", maxsplit=1)
        try:
            there = version(name.strip())
        except PackageNotFoundError:
            old.append(f"{name.strip()} is missing")
            continue
        if _parts(there) < _parts(least.split(">=")[0].split(",")[0]):
            old.append(f"{name.strip()} {there} is older than {least.split('>=')[0]}")
    return (", ".join(old) or f"all {len(needed)} there"), not old


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def laplace_noise() -> Found:
    """The noise of live trials has the discrete Laplace law, and would not pass for one of a scale 10 % off."""
    from bestarm.privacy.noise import live_noise

    noise = live_noise()
    scale = Fraction(2)
    draws = [noise.laplace(scale) for _ in range(DRAWS)]
    used = float(noise.laplace_scale_used(scale))
    z = range(-200, 201)
    right = _fits(draws, z, [math.exp(-abs(k) / used) for k in z])
    wrong = _fits(draws, z, [math.exp(-abs(k) / (1.1 * used)) for k in z])
    return f"p = {right:.3g}; of a scale 10 % off: {wrong:.2g} ({noise.laplace_sampler(scale)})", (
        right > FALSE_ALARM and wrong < CLEARLY
    )


def gaussian_noise() -> Found:
    """The same for the discrete Gaussian law of zCDP."""
    from bestarm.privacy.noise import live_noise

    noise = live_noise()
    variance = Fraction(9)
    draws = [noise.gaussian(variance) for _ in range(DRAWS)]
    used = float(noise.gaussian_variance_used(variance))
    z = range(-80, 81)
    right = _fits(draws, z, [math.exp(-k * k / (2 * used)) for k in z])
    wrong = _fits(draws, z, [math.exp(-k * k / (2 * 1.21 * used)) for k in z])
    return f"p = {right:.3g}; of a scale 10 % off: {wrong:.2g} ({noise.gaussian_sampler(variance)})", (
        right > FALSE_ALARM and wrong < CLEARLY
    )


def _fits(draws: Sequence[int], values: range, weights: Sequence[float]) -> float:
    from bestarm.privacy.counts import fits

    total = math.fsum(weights)
    below = dict(enumerate(accumulate(weight / total for weight in weights), values[0] + 1))
    cuts = [cut for cut, chance in below.items() if 1e-4 < chance < 1 - 1e-4]
    return fits(draws, cuts, below.__getitem__)


def coins() -> Found:
    """A live trial's coins fall with the weights of the stage."""
    from bestarm.privacy.counts import proportion
    from bestarm.trial.desk import pick_secretly

    weights = [0.5, 0.125, 0.375]
    tossed = [pick_secretly(weights) for _ in range(DRAWS)]
    p = min(proportion(tossed.count(arm), DRAWS, weight) for arm, weight in enumerate(weights))
    off = proportion(tossed.count(1), DRAWS, 0.1)
    return f"p = {p:.3g}; of a weight of 0.1 in place of 0.125: {off:.2g}", p > FALSE_ALARM and off < CLEARLY


def price_of_bets() -> Found:
    """A bet on a release costs at least its mean under the noise: E F(Z) = G(0), and G(u) <= G(0) e^(l u)."""
    from bestarm.release.curves import tangents
    from bestarm.release.laws import pure_law

    worst = 0.0
    for epsilon, steep, cap in ((1.0, 1.5, 3.3), (0.1, 0.2, 3.0), (3.0, 6.0, 1.5), (0.5, 20.0, 0.7)):
        law = pure_law(epsilon)
        found = tangents(law, steep, cap)
        reach = math.ceil(60 / epsilon)
        z = range(-reach, reach + 1)
        noise = [math.exp(-epsilon * abs(k)) for k in z]
        total = math.fsum(noise)

        def mean(u: int, steep: float = steep, cap: float = cap) -> float:
            return math.fsum(n * math.exp(min(steep * (u + k), cap)) for n, k in zip(noise, z, strict=True)) / total  # noqa: B023

        slope = 0.5 * (found.least + found.most)
        excess = max(math.log(mean(u)) - found.cost - slope * u for u in range(-12, 13))
        worst = max(worst, excess, abs(math.log(mean(0)) - found.cost))
    return f"mean over price at most 1 + {worst:.1e}", worst < 1e-8


def error_rate_under_a_trend() -> Found:
    """The default algorithm errs no more often than it promises at the edge of the difference, while all arms drift."""
    from bestarm.privacy.counts import at_most
    from bestarm.simulation import simulate

    runs, delta = 300, 0.2
    results = simulate(
        means=[0.5, 0.4],
        epsilon=1,
        delta=delta,
        difference=0.1,
        trend="linear:0.3",
        runs=runs,
        seed=20,
        max_participants=5000,
    )
    wrong = int(results.wrong.sum())
    return f"{wrong} of {runs} wrong", at_most(wrong, runs, delta) > FALSE_ALARM


def reference_bounds() -> Found:
    """The characteristic times and bounds of the paper's second instance, as computed independently."""
    from bestarm.theory import bounds

    found = bounds([0.75, 0.7, 0.7, 0.7, 0.7], 0.1, 0.01)
    expected = (REFERENCE["t_kl"], REFERENCE["t_tv"], REFERENCE["lower_bound_refined"])
    had = (found.t_kl, found.t_tv, found.lower_bound_refined)
    off = max(abs(a / b - 1) for a, b in zip(had, expected, strict=True))
    return f"T*_KL {had[0]:.6g}, T*_TV {had[1]:.6g}, bound {had[2]:.6g}: off by {off:.1e}", off < 1e-6


def reference_constants() -> Found:
    """O'Brien and Fleming's constants, and the exact error of a fixed design."""
    from bestarm.release.laws import no_privacy
    from bestarm.theory.fixed import fixed_error
    from bestarm.theory.group_sequential import obrien_fleming_constant

    constant = obrien_fleming_constant(5, 0.05)
    # One person on each of two arms that always, and never, succeed; and by counting where they do half of the time.
    error = fixed_error(2, 0.5, 0.5, 1, no_privacy())
    ok = abs(constant - 2.040) < 6e-4 and abs(error - 0.5) < 1e-9
    return f"C(5 looks, .05) = {constant:.4f}; error of one person each at .5 and 1: {error:.6f}", ok


def frozen_trial() -> Found:
    """A trial that was frozen when this version was made: its log, its decisions and its chain are as they were."""
    from bestarm.trial.trial import Trial

    with tempfile.TemporaryDirectory() as folder, as_file(files("bestarm.qualification") / FROZEN) as kept:
        copy = Path(folder) / FROZEN
        shutil.copy(kept, copy)
        trial = Trial.open(copy, name="frozen")
        try:
            found = trial.verify()
        finally:
            trial.close()
    return (
        f"{found.events} events, {'all as they should be' if found.ok else f'first bad: {found.first_bad}'}",
        found.ok,
    )


def live_trial() -> Found:
    """A trial here and now: enrolled, told, released, verified; and a changed outcome in its log is noticed."""
    import sqlalchemy as sa

    from bestarm.trial.trial import Trial

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "trial.db"
        trial = Trial.create(place, name="check", arms=["a", "b"], epsilon=1, delta="0.1", algorithm="uniform")
        for number in range(60):
            asked = trial.ask(f"p-{number}")
            trial.tell(str(asked.id), number % 2)
        sound = trial.verify()
        released = len(trial.status()["releases"])
        trial.close()
        engine = sa.create_engine(f"sqlite:///{place}")
        with engine.begin() as connection:
            connection.execute(sa.text("UPDATE events SET actor = 'somebody' WHERE seq = 9"))
        engine.dispose()
        again = Trial.open(place, name="check")
        noticed = not again.verify().ok
        again.close()
    said = f"{sound.events} events, {released} releases, {'sound' if sound.ok else 'NOT sound'}; "
    return said + (
        "a change is noticed" if noticed else "a change is NOT noticed"
    ), sound.ok and noticed and released > 0


REFERENCE: Final = {"t_kl": 1424.7467958626848, "t_tv": 100.0, "lower_bound_refined": 7296.786809124693}
"""By an implementation of its own, of means .75 and four times .7 at epsilon 0.1, delta 0.01."""

CHECKS: Final[tuple[tuple[str, str, Callable[[], Found]], ...]] = (
    ("dependencies", "all there, none older than tested", dependencies),
    ("noise of live trials, discrete Laplace", "fits its law; one 10 % off does not", laplace_noise),
    ("noise of live trials, discrete Gaussian", "fits its law; one 10 % off does not", gaussian_noise),
    ("coins of live trials", "fall with their weights; others do not fit", coins),
    ("price of bets", "the mean of a bet is at most its price", price_of_bets),
    ("error rate under a trend", "at most the promised 20 %", error_rate_under_a_trend),
    ("reference numbers: bounds", "off by less than 1e-6", reference_bounds),
    ("reference numbers: designs", "2.040 and 0.5", reference_constants),
    ("a frozen trial, replayed", "every event as it should be", frozen_trial),
    ("a trial here and now", "sound, and a change in its log is noticed", live_trial),
)
