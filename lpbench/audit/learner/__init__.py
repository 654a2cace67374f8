"""Black-box audits of training code: anything with ``fit(X, y)`` that claims label or record privacy.

Four audits (docs/audit_code.md says what each does and proves): the *worst tables*, neighboring ones that
a search finds, which prove most of a central or a local model; the *leak test*, which bounds no epsilon; the *canary
audit* [1]_, of which one training can prove log(f^(1/m) / (1 - f^(1/m))) at most, for m canaries and failure
probability f; and *label inference* [3]_, sharper for one vulnerable record and many trainings dearer, whose bound
holds after every training [2]_.

References
----------
.. [1] T. Steinke, M. Nasr, M. Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023, Theorem 5.2.
.. [2] H. Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of Mathematical Statistics
   41, 1970: limits that hold at all sample sizes together.
.. [3] R. Busa-Fekete, T. Dick, C. Gentile, A. Munoz Medina, A. Smith, M. Swanberg, "Auditing privacy mechanisms via
   label inference attacks", 2024: the label-inference advantage.
"""

from lpbench.audit.learner.bounds import PROVES, anytime_lower, canary_audit, inference_audit, one_run_epsilon
from lpbench.audit.learner.leak import leak_test
from lpbench.audit.learner.neighbors import protects_by_default, stated_ranges
from lpbench.audit.learner.training import Learner, load_learner
from lpbench.audit.learner.worst_tables import MOST_FITS, SECONDS, worst_tables_audit

__all__ = [
    "MOST_FITS", "PROVES", "SECONDS", "Learner", "anytime_lower", "canary_audit", "inference_audit", "leak_test",
    "load_learner", "one_run_epsilon", "protects_by_default", "stated_ranges", "worst_tables_audit",
]  # fmt: skip
