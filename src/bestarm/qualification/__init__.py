"""Installation qualification: is what is installed here what it says it is, and does it do what it should?

A record for whoever answers for a trial: versions and platform, and the checks that matter, each with what was expected
and what was found. Statistical checks have a false-alarm rate below one in a million each.
"""

from bestarm.qualification.record import Check, Qualification, qualify, write_record

__all__ = ["Check", "Qualification", "qualify", "write_record"]
