"""Black-box audits of training code: anything with ``fit(X, y)`` that claims label or record privacy.

Three audits, which prove different things:

- The *leak test* fits on one sample, then on another whose private inputs differ, with the reports of the first. A
  difference proves that ``fit`` reads private inputs beside the reports. It bounds no epsilon; and if there is none,
  that is true of the two samples tried, and the reports must be audited on their own.
- The *canary audit* trains once on records of which each is one of two versions by a fair coin, and guesses the coins
  from the model (Steinke, Nasr and Jagielski 2023). It proves a lower bound on epsilon, never an upper one; one
  training can prove log(f^(1/m) / (1 - f^(1/m))) at most, for m canaries and failure probability f.
- *Label inference* trains many times, with one coin each, and guesses it: the advantage over a fair guess gives a
  lower bound on epsilon that needs no assumption, sharper for one vulnerable record and many trainings dearer.

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
from lpbench.audit.learner.training import load_learner

__all__ = ["PROVES", "anytime_lower", "canary_audit", "inference_audit", "leak_test", "load_learner", "one_run_epsilon"]
