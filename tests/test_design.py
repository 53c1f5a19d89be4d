"""One design: exact, checked in one place with one wording, readable again, and the source of every law and number."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bestarm as ba
from bestarm.design import NO_PRIVACY, PRIVACY_MODELS, Design, Outcomes, Privacy, resolve
from bestarm.errors import InputError
from bestarm.instance import Instance
from bestarm.planning.question import Question
from bestarm.policy.catalogue import CATALOGUE, find
from bestarm.privacy.mechanism import mechanism_of
from bestarm.privacy.noise import SystemNoise
from bestarm.release import laws
from bestarm.release.models import AS_IS, COIN, GRID, ON_GRID
from bestarm.simulation import make_scenario
from bestarm.simulation.people import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, RANDOMISED_RESPONSE, noise_of
from bestarm.theory import bounds

ABLE = replace(
    CATALOGUE["uniform"], name="able", revision=4, privacy=PRIVACY_MODELS, noise="discrete", supports_indifference=True
)
"""An algorithm that takes every design."""
BINARISES = replace(ABLE, name="binarises", binarises=True)

PLAIN: dict[str, Any] = {"arms": ["a", "b", "c"], "epsilon": "1", "delta": "0.05", "algorithm": ABLE}

OF_0_1_0: dict[str, Any] = {
    "arms": ["5 mg", "10 mg"],
    "epsilon": "0.3",
    "delta": "0.01",
    "algorithm": "evidence",
    "privacy": "pure",
    "rho": None,
    "outcomes": "unit",
    "low": "0",
    "high": "10",
    "lower_is_better": True,
    "indifference": "0.05",
    "max_participants": 900,
    "follow_up": 2592000,
    "withdrawal": "impute:10",
    "contributions": 2,
    "allocation": "fixed",
    "encoding": "grid",
}
"""A design as version 0.1.0 froze it."""


def make(**changes: Any) -> Design:
    return Design.make(**(PLAIN | changes))


def test_a_design_of_the_first_version_is_read() -> None:
    design = Design.from_json(OF_0_1_0)
    assert (design.identity, design.difference) == ("evidence@1", Fraction(1, 2))
    assert design.numbers().difference == 0.05
    assert design.outcomes == Outcomes(Fraction(0), Fraction(10), False, True)
    assert design.codes == "as typed"
    assert replace(design, codes="folded") == make(
        algorithm=replace(ABLE, name="evidence", revision=1),
        arms=OF_0_1_0["arms"],
        epsilon=0.3,
        delta=0.01,
        low=0,
        high=10,
        lower_is_better=True,
        difference="0.5",
        max_participants=900,
        follow_up="30d",
        contributions=2,
        allocation="fixed",
    )


def any_design(**given: Any) -> Design:
    shuffled = given["privacy"] == "shuffle"
    once = {"contributions": 1} if given["follow_up"] is None or shuffled else {}
    return make(**given | once | ({"privacy_delta": "0.0001", "group": 12} if shuffled else {}))


designs = st.builds(
    any_design,
    arms=st.lists(st.sampled_from("uvwxyz"), min_size=2, unique=True),
    epsilon=st.fractions(Fraction(1, 1000), 20),
    rho=st.fractions(Fraction(1, 1000), 20),
    delta=st.fractions(Fraction(1, 10**9), Fraction(9, 10)),
    privacy=st.sampled_from(PRIVACY_MODELS),
    outcomes=st.sampled_from(["unit", "binary"]),
    low=st.sampled_from(["-3", "0.1", "1e-9"]),
    high=st.sampled_from(["1", "7.25", "1e6"]),
    lower_is_better=st.booleans(),
    what=st.sampled_from([None, "pain after 30 days"]),
    difference=st.sampled_from(["0", "0.0001", "0.8"]),
    max_participants=st.sampled_from([None, 6, 10**9]),
    follow_up=st.sampled_from([None, "30d", 45]),
    contributions=st.integers(1, 5),
    beta=st.sampled_from(["0.5", "0.3"]),
)


@given(designs)
def test_what_was_written_is_read_exactly(design: Design) -> None:
    assert Design.from_json(design.to_json()) == design
    assert all(not isinstance(value, float) for value in design.to_json().values())
    assert hash(Design.from_json(design.to_json())) == hash(design)


@given(designs)
def test_a_design_without_one_of_its_parts_is_no_design(design: Design) -> None:
    written = design.to_json()
    for part in ("arms", "privacy", "delta", "algorithm", "outcomes", "low", "withdrawal", "encoding"):
        with pytest.raises(InputError, match="not a design"):
            Design.from_json({key: value for key, value in written.items() if key != part})


def test_numbers_are_those_of_one_outcome_in_floating_point() -> None:
    numbers = make(low=0, high=20, difference="1", contributions=4, follow_up="1d", beta="0.25").numbers()
    assert (numbers.arms, numbers.delta, numbers.budget, numbers.difference) == (3, 0.05, 0.25, 0.05)
    assert (numbers.beta, numbers.s) == (0.25, 2.0)
    assert numbers.law == laws.pure_law(0.25, 20)
    assert make(privacy="zcdp", rho="0.5", contributions=2, follow_up="1d").numbers().budget == 0.125
    assert make(privacy="none").numbers().budget == math.inf


def test_no_privacy_is_written_in_one_way() -> None:
    assert make(privacy="none").privacy == make(algorithm="ttucb").privacy == NO_PRIVACY == Privacy("none")
    assert NO_PRIVACY.to_json() == {"privacy": "none", "epsilon": None, "rho": None}
    with pytest.raises(InputError, match="takes no budget"):
        Privacy("none", Fraction(1))
    with pytest.raises(InputError, match="--rho"):
        Privacy("zcdp")


@pytest.mark.parametrize(
    ("changes", "encoding"),
    [
        ({}, ON_GRID),
        ({"outcomes": "binary"}, AS_IS),
        ({"outcomes": "binary", "algorithm": "adap-tt"}, ON_GRID),
        ({"algorithm": BINARISES}, COIN),
        ({"algorithm": BINARISES, "outcomes": "binary"}, AS_IS),
        ({"privacy": "local"}, COIN),
        ({"privacy": "local", "outcomes": "binary"}, AS_IS),
        ({"privacy": "none"}, ON_GRID),
        ({"privacy": "zcdp", "rho": 1, "outcomes": "binary"}, AS_IS),
    ],
)
def test_encoding_follows_from_algorithm_privacy_and_outcomes(changes: dict[str, Any], encoding: str) -> None:
    assert make(**changes).encoding == encoding


@pytest.mark.parametrize("privacy", [model for model in PRIVACY_MODELS if model != "shuffle"])
@pytest.mark.parametrize("outcomes", ["unit", "binary"])
def test_simulator_and_live_trial_draw_the_noise_of_one_law(privacy: str, outcomes: str) -> None:
    design = make(privacy=privacy, epsilon="0.5", rho="0.125", outcomes=outcomes, contributions=2, follow_up=9)
    law, grid = design.law, design.grid
    door = mechanism_of(design.per_outcome, design.encoding, SystemNoise())
    simulated, terms = noise_of(law), door.terms()
    assert door.law == law
    assert simulated.grid == grid == door.encoder.grid == (GRID if outcomes == "unit" and privacy != "local" else 1)
    if privacy == "pure":
        assert simulated == (DISCRETE_LAPLACE, 0.25 / grid, grid, 1)
        assert (terms["mechanism"], terms["epsilon"], terms["scale"]) == ("discrete Laplace", "0.25", "4")
    elif privacy == "zcdp":
        assert simulated == (DISCRETE_GAUSSIAN, 4.0 * grid, grid, 1)
        assert (terms["mechanism"], terms["rho"], terms["variance"]) == ("discrete Gaussian", "0.03125", "16")
    elif privacy == "local":
        assert simulated.kind == RANDOMISED_RESPONSE
        assert simulated.scale == pytest.approx(1 / (1 + math.exp(-0.25)))
        assert (door.encoder.local_epsilon, terms["epsilon"]) == (Fraction(1, 4), "0.25")
    else:
        assert (terms["mechanism"], terms["epsilon"], door.release(7)) == ("no noise", None, 7)


def sentences(name: str, value: Any) -> dict[str, str]:
    """What each way in says of the same bad number."""

    def simulate(**changes: Any) -> object:
        settings: dict[str, Any] = {"epsilon": 1.0, "delta": 0.05, "beta": 0.5}
        return make_scenario("evidence", Instance.bernoulli([0.9, 0.1]), **(settings | changes))

    def plan(**changes: Any) -> object:
        return ba.plan([0.9, 0.1], **({"epsilon": 1.0, "delta": 0.05} | changes))

    def theory(**changes: Any) -> object:
        settings: dict[str, Any] = {"epsilon": 1.0, "delta": 0.05, "beta": 0.5}
        return bounds([0.9, 0.1], **(settings | changes))

    def law(epsilon: float = 1.0) -> object:
        return laws.pure_law(epsilon)

    ways: dict[str, Callable[..., object]] = {"design": make, "simulate": simulate, "theory": theory}
    if name != "beta":
        ways["plan"] = plan
    if name == "epsilon":
        ways["law"] = law
    found = {}
    for way, ask in ways.items():
        with pytest.raises(InputError) as caught:
            ask(**{name: value})
        found[way] = str(caught.value)
    return found


@pytest.mark.parametrize("value", [0.0, -1.0, 2.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["epsilon", "delta", "beta"])
def test_every_way_in_says_the_same(name: str, value: float) -> None:
    if (name, value) == ("epsilon", 2.0):
        return
    found = sentences(name, value)
    assert len(set(found.values())) == 1, found
    assert found["design"].startswith(f"{name} is ")


def test_a_design_that_is_put_together_by_hand_is_checked_too() -> None:
    good = make(outcomes="binary")
    parts: tuple[tuple[str, Any], ...] = (
        ("delta", Fraction(2)),
        ("arms", ("a",)),
        ("arms", ("a", "a")),
        ("difference", Fraction(1)),
        ("allocation", "whim"),
        ("encoding", "words"),
        ("contributions", 0),
        ("contributions", 2),
        ("contributions", 2 * 10**6),
        ("max_participants", 2),
        ("follow_up", -3),
        ("withdrawal", "forget"),
        ("withdrawal", "impute:2"),
        ("s", Fraction(1)),
        ("beta", Fraction(1)),
        ("privacy", Privacy("pure", Fraction(1, 10**7))),
        ("privacy", Privacy("pure", Fraction(10**7))),
    )
    for part, bad in parts:
        with pytest.raises(InputError):
            replace(good, **{part: bad})


def test_the_difference_has_two_names_and_the_outcomes_own_units() -> None:
    assert make(high=100, difference="5") == make(high=100, indifference=5)
    with pytest.raises(InputError, match="one of the two"):
        make(difference=0.1, indifference=0.1)
    with pytest.raises(InputError, match="below the outcome's range, 100"):
        make(high=100, difference=100)
    with pytest.raises(InputError, match="--difference"):
        make(algorithm="adap-tt", difference=0.1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": "10.5"}, "epsilon is 10.5"),
        ({"privacy": "zcdp", "rho": 11}, "rho is 11"),
        ({"delta": "0.21"}, "delta is 0.21"),
        ({"high": 10, "difference": "5.1"}, "more than half"),
        ({"high": 100, "difference": "0.05"}, "own units"),
    ],
    ids=str,
)
def test_odd_designs_are_allowed_with_a_warning(changes: dict[str, Any], words: str) -> None:
    (said,) = make(**changes).warnings()
    assert words in said
    assert said.endswith(".")


def test_ordinary_designs_raise_no_eyebrow() -> None:
    assert make(epsilon=10, delta="0.2", difference="0.5").warnings() == []


def test_an_algorithm_is_found_by_name_and_revision() -> None:
    newest = CATALOGUE["evidence"]
    assert find(newest.identity) is find("evidence") is newest
    assert make(algorithm=newest.identity) == make(algorithm="evidence") == make(algorithm=newest)
    for name in ("evidence@77", "evidence@", "evidence@x"):
        with pytest.raises(InputError, match=newest.identity):
            find(name)
    assert make().to_json()["algorithm"] == "able@4"


def test_an_algorithm_of_ones_own_is_named_with_its_revision() -> None:
    named = f"{__name__}:ABLE"
    design = make(algorithm=named)
    assert design.to_json()["algorithm"] == f"{named}@4"
    assert resolve(Design.from_json(design.to_json()).identity) is ABLE
    with pytest.raises(InputError, match="revision is 4 now"):
        resolve(f"{named}@1")


def test_a_plan_takes_algorithms_of_modules_that_are_imported_already() -> None:
    question = Question.ask([0.9, 0.1], epsilon=1, algorithm=f"{__name__}:ABLE")
    assert resolve(question.design.identity) is ABLE


def test_a_plan_imports_no_algorithm_by_the_name_of_its_module() -> None:
    """A plan may be asked for over the network."""
    sys.modules.pop("this", None)
    with pytest.raises(InputError, match="no algorithm 'this:s'"):
        ba.plan([0.9, 0.1], epsilon=1, algorithm="this:s")
    assert "this" not in sys.modules
