"""A person's coins fall once: the same for the same person and purpose, fair and independent across people."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestarm.errors import InputError
from bestarm.privacy import samplers
from bestarm.privacy.coins import IMPUTED, OUTCOME, Coins, KeyedStream, PersonalCoins
from bestarm.privacy.encoding import Encoder
from bestarm.release.models import AS_IS, COIN, ON_GRID
from bestarm.storage.events import EventKind
from bestarm.trial.desk import Desk
from bestarm.trial.trial import Trial
from tests.chance import CLEARLY, FALSE_ALARM, fits, proportion

KEY = b"a key of thirty-two bytes or so."
RUNS = 20_000
FRACTIONS = st.fractions(min_value=0, max_value=1)


class TossedAgain:
    """Plants: coins from the operating system, new ones whenever they are asked for."""

    def __init__(self, *whose: object) -> None:
        pass

    def coin(self, p: Fraction) -> bool:
        return samplers.bernoulli(secrets.randbelow, p)

    def truthful(self, epsilon: Fraction) -> bool:
        return samplers.bernoulli_logistic(secrets.randbelow, epsilon)

    def flips(self, p: Fraction) -> bool:
        return self.coin(p)


def new_people(count: int, purpose: str = OUTCOME) -> list[PersonalCoins]:
    key = secrets.token_bytes(32)
    return [PersonalCoins(key, "t", number, purpose) for number in range(count)]


def answers(coins: Coins, outcomes: tuple[str, ...] = ("0.3",)) -> set[tuple[int, ...]]:
    """What one person answers when asked for these outcomes 40 times over: by a coin, on the grid, at random."""
    encoders = Encoder(COIN), Encoder(ON_GRID), Encoder(COIN, Fraction(1, 2))
    return {tuple(e.encode(Fraction(x), coins) for e in encoders for x in outcomes) for _ in range(40)}


def test_a_person_asked_again_answers_the_same() -> None:
    assert all(len(answers(coins, ("0.3", "0.4"))) == 1 for coins in new_people(50))
    assert len({next(iter(answers(coins))) for coins in new_people(50)}) > 1
    # Forty tosses at .3 come out alike with a chance of 6e-7, and so do forty others at .42 with one below 1e-9.
    assert len(answers(TossedAgain())) > 1


@given(FRACTIONS, FRACTIONS, st.integers(0, 2**40))
def test_one_threshold_for_each_person(one: Fraction, other: Fraction, person: int) -> None:
    coins = PersonalCoins(KEY, "t", person)
    low, high = sorted((one, other))
    for encoding in (COIN, ON_GRID):
        assert Encoder(encoding).encode(low, coins) <= Encoder(encoding).encode(high, coins)
    assert not coins.coin(Fraction(0))
    assert coins.coin(Fraction(1))


@given(st.integers(0, 2**40), st.fractions(min_value=0, max_value=3))
def test_whether_an_answer_is_true_does_not_depend_on_the_outcome(person: int, epsilon: Fraction) -> None:
    coins = PersonalCoins(KEY, "t", person)
    kept = {Encoder(AS_IS, epsilon).encode(Fraction(x), coins) == x for x in (0, 1)}
    assert kept == {coins.truthful(epsilon)}


def test_what_is_imputed_does_not_tell_how_the_outcome_was_answered() -> None:
    # A shared coin would agree always, and not half of the time.
    epsilon = Fraction(1, 1000)
    pairs = [(own, replace(own, purpose=IMPUTED)) for own in new_people(RUNS)]
    truths = [(outcome.truthful(epsilon), imputed.truthful(epsilon)) for outcome, imputed in pairs]
    truth = 1 / (1 + math.exp(-1 / 1000))
    assert proportion(sum(a == b for a, b in truths), RUNS, truth**2 + (1 - truth) ** 2) > FALSE_ALARM


@pytest.mark.parametrize("purpose", [OUTCOME, IMPUTED])
def test_thresholds_are_uniform(purpose: str) -> None:
    marks = [sum(coins.coin(Fraction(k, 16)) for k in range(1, 16)) for coins in new_people(4000, purpose)]
    assert fits(marks, range(1, 16), lambda k: k / 16) > FALSE_ALARM
    assert fits([mark * mark // 15 for mark in marks], range(1, 16), lambda k: k / 16) < CLEARLY


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(3)])
def test_the_truth_is_told_as_often_as_promised(epsilon: Fraction) -> None:
    truths = sum(coins.truthful(epsilon) for coins in new_people(RUNS))
    assert proportion(truths, RUNS, 1 / (1 + math.exp(-epsilon))) > FALSE_ALARM


def test_neighbours_in_a_trial_have_nothing_in_common() -> None:
    coins = new_people(RUNS + 1)
    ups = [own.coin(Fraction(1, 2)) for own in coins]
    assert proportion(sum(a == b for a, b in pairwise(ups)), RUNS, 0.5) > FALSE_ALARM
    truths = [own.truthful(Fraction(0)) for own in coins]
    assert proportion(sum(a == b for a, b in zip(ups, truths, strict=True)), RUNS + 1, 0.5) > FALSE_ALARM


def test_another_context_is_another_stream() -> None:
    contexts = [(b"t", b"12"), (b"t1", b"2"), (b"t", b"1", b"2"), (b"t", b"12", b""), ()]
    first = {KeyedStream(KEY, *context).bits(256) for context in contexts}
    first.add(KeyedStream(KEY[::-1], *contexts[0]).bits(256))
    assert len(first) == len(contexts) + 1
    whose = [("t", 1, OUTCOME), ("t", 1, IMPUTED), ("t", 2, OUTCOME), ("u", 1, OUTCOME)]
    assert len({PersonalCoins(KEY, *who)._stream("truth").bits(256) for who in whose}) == len(whose)


def test_a_stream_is_the_same_however_it_is_read() -> None:
    whole = KeyedStream(KEY, b"x").bits(1000)
    pieces = KeyedStream(KEY, b"x")
    joined = 0
    for size in (0, 1, 7, 64, 256, 300, 372):
        joined = joined << size | pieces.bits(size)
    assert joined == whole


@pytest.mark.parametrize("n", [1, 2, 3, 10, 2**64, 2**64 + 1])
def test_numbers_below_n_are_uniform(n: int) -> None:
    stream = KeyedStream(secrets.token_bytes(32), b"n")
    draws = [stream.below(n) for _ in range(4000)]
    assert all(0 <= draw < n for draw in draws)
    cuts = sorted({n * k // 10 for k in range(1, 10)} - {0})
    assert not cuts or fits(draws, cuts, lambda cut: cut / n) > FALSE_ALARM


@given(st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4), FRACTIONS)
def test_a_threshold_is_compared_exactly(words: list[int], p: Fraction) -> None:
    coming = iter([*words, *([0] * 100)])
    uniform = sum(Fraction(word, 2 ** (64 * (place + 1))) for place, word in enumerate(words))
    assert samplers.threshold_below(lambda _: next(coming), p) == (uniform < p)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_threshold_that_begins_like_p_is_compared_further(first: int, second: int) -> None:
    p = Fraction(first, 2**64) + Fraction(second, 2**128)
    for last, below in ((second - 1, True), (second, False), (second + 1, False)):
        if 0 <= last < 2**64:
            coming = iter([first, last, 0, 0])
            assert samplers.threshold_below(lambda _, coming=coming: next(coming), p) is below  # type: ignore[misc]


def test_a_key_is_needed_and_never_shown() -> None:
    for short in (b"", b"short"):
        with pytest.raises(InputError, match="at least 16"):
            PersonalCoins(short, "t", 1)
    assert KEY.decode() not in repr(PersonalCoins(KEY, "t", 1))


def leftovers(path: Path, deal: Callable[..., Coins], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every answer that reaches the log for one person whose outcome is told until the 41st commit succeeds."""
    written: list[int] = []
    emit = Desk.emit

    def and_fail(
        self: Desk, kind: EventKind, actor: str, body: dict[str, Any], secret: dict[str, Any] | None = None
    ) -> None:
        emit(self, kind, actor, body, secret)
        if kind == "told":
            assert secret is not None
            written.append(secret["value"])
            if len(written) <= 40:
                raise ConnectionError("The database went away.")

    plan: dict[str, Any] = {"name": "t", "arms": ["a", "b"], "epsilon": "0.1", "delta": "0.1", "privacy": "local"}
    with monkeypatch.context() as patch, Trial.create(path, **plan) as trial:
        patch.setattr(Desk, "emit", and_fail)
        patch.setattr("bestarm.trial.trial.PersonalCoins", deal)
        asked = trial.ask("somebody")
        assert asked.id is not None
        for _ in range(40):
            with pytest.raises(ConnectionError):
                trial.tell(asked.id, "0.5")
        assert trial.tell(asked.id, "0.5") == "recorded"
    return written


def test_a_commit_that_fails_leaves_no_second_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(set(leftovers(tmp_path / "a.db", PersonalCoins, monkeypatch))) == 1
    # 41 fair answers are all alike with a chance of 2^-40.
    assert len(set(leftovers(tmp_path / "b.db", partial(TossedAgain), monkeypatch))) == 2
