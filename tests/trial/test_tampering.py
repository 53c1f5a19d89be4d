"""A sample of `python -m benchmarks.tampering`: edits of every kind, none unnoticed that changes anything."""

from __future__ import annotations

from collections import Counter

from benchmarks.tampering.judging import NOTICED, TRACEBACK, UNNOTICED, tried


def test_no_edit_goes_unnoticed_or_ends_in_a_traceback() -> None:
    total = sum(tried(each=2, stride=9).values(), Counter[str]())
    assert total[UNNOTICED] == total[TRACEBACK] == 0
    assert total[NOTICED] > 60
