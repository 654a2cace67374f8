"""Audit whole models of diffprivlib and OpenDP at epsilon = 1, where the libraries are installed with lpbench-light.

``python -m scripts.audits.models NAME [SEED [EXCESS]]`` prints a line: found or not, the bound, fits to each table of
the test, about 110 CPU seconds at most. With an EXCESS the model is made with that many times the epsilon that
it claims: the least that is found is the power of "not found".
"""

import sys
import time
from typing import Any

from lpbench.audit.black_box import CallableSource, PrivacyClaim, audit
from lpbench.audit.black_box.sources import load_function
from lpbench.audit.learner import Learner, worst_tables, worst_tables_audit

#: Functions of a value that draw one report; all other names are learners.
REPORTS = "theil_sen_with_another_record"
#: Reports of such a function, and CPU seconds of the search of tables.
SAMPLES, SECONDS = 16_000, 110.0


class Exceeding(Learner):
    """A learner that is made with more epsilon than it claims."""

    excess = 1

    def __call__(self, epsilon: float, seed: int, **public: Any) -> Any:
        """Make an unfitted learner."""
        return super().__call__(epsilon * self.excess, seed, **public)


def main(name: str, seed: int = 0, excess: int = 1) -> None:
    """Audit one model and print a line."""
    worst_tables.clock = time.process_time
    begun, code = time.process_time(), load_function(name)
    if REPORTS in name:
        verdict = audit(CallableSource(code, [0, 1], seed, name=name), PrivacyClaim(1.0), SAMPLES)
    else:
        learner = Exceeding(code, name)
        learner.excess = excess
        verdict = worst_tables_audit(learner, PrivacyClaim(1.0), "record", seconds=SECONDS, seed=seed)
    row = name, seed, excess, "found" if verdict.violated else "not found", f"{verdict.bound:.2f}", verdict.samples
    print(*row, f"{time.process_time() - begun:.0f}", verdict.unit, sep=";", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
