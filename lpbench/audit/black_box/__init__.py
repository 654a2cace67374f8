"""Black-box audit of anybody's randomizer: a callable, a file of reports, or a command; see docs/audit_code.md."""

from lpbench.audit.black_box.claims import PrivacyClaim
from lpbench.audit.black_box.decide import Verdict, audit, detectable, lower_bound
from lpbench.audit.black_box.interfaces import Subject
from lpbench.audit.black_box.sources import CallableSource, CommandSource, WithFeatures
from lpbench.audit.black_box.values import parse_values

__all__ = [
    "CallableSource", "CommandSource", "PrivacyClaim", "Subject", "Verdict", "WithFeatures", "audit",
    "detectable", "lower_bound", "parse_values",
]  # fmt: skip
