"""Black-box audits of training code: anything with ``fit(X, y)`` that claims label or record privacy.

Three audits (docs/audit_code.md says what each does and proves): the *worst tables*, neighboring ones that a search
finds, which prove most of a central or a local model; the *leak test*, which bounds no epsilon; and the *canary audit*
[1]_, of which one training can prove log(f^(1/m) / (1 - f^(1/m))) at most, for m canaries and failure probability f.

References
----------
.. [1] T. Steinke, M. Nasr, M. Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023, Theorem 5.2.
"""

from lpbench.audit.learner.bounds import canary_audit
from lpbench.audit.learner.leak import leak_test
from lpbench.audit.learner.neighbors import protects_by_default, stated_ranges
from lpbench.audit.learner.training import Learner, load_learner
from lpbench.audit.learner.worst_tables import MOST_FITS, SEARCH_SECONDS, worst_tables_audit

__all__ = [
    "MOST_FITS", "SEARCH_SECONDS", "Learner", "canary_audit", "leak_test", "load_learner", "protects_by_default",
    "stated_ranges", "worst_tables_audit",
]  # fmt: skip
