"""What ``lpbench audit --learner`` does: audits of other people's training code."""

from __future__ import annotations

from collections.abc import Sequence

from lpbench.errors import CellTimeout, ConfigurationError, DataError


def audit_learner(name: str, epsilon: float, protects: str, reports: Sequence[str], seed: int, timeout: float) -> int:
    """Audit training code ``module:Class`` that claims epsilon, print what is proven, and return 1 on a violation."""
    if not 0 < epsilon < float("inf"):
        raise ConfigurationError(f"--epsilon {epsilon:g} must be a finite number > 0")
    from lpbench.audit.learner import PROVES, Protects, canary_audit, inference_audit, leak_test, load_learner
    from lpbench.experiments.limits import time_limit

    make = load_learner(name)
    kind: Protects = "record" if protects == "record" else "label"
    violated, audit = False, "leak test"
    try:
        with time_limit(timeout):
            if reports:
                leak = leak_test(make, epsilon, reports, kind, seed=seed)
                print(f"leak: {leak or 'no difference found'}; {PROVES['leak']}")
                violated = leak is not None
            else:
                print("leak: not tested; name the functions that make the reports with --reports")
            audit = "canary audit"
            canaries = canary_audit(make, epsilon, kind, seed=seed)
            print(canaries)
            violated |= canaries.epsilon > epsilon
            audit = "label inference"
            guesses = inference_audit(make, epsilon, kind, seed=seed, stop=True)
            print(guesses)
            violated |= guesses.epsilon > epsilon
    except CellTimeout:
        late = (
            f"{name} did not finish within {timeout:g} s (in the {audit}): make its fit quicker, or allow more by "
            "--timeout"
        )
        if not violated:
            raise DataError(late) from None
        print(late)
    print(f"{name}: {'VIOLATED' if violated else 'no violation found'}; claims {kind} privacy at epsilon {epsilon:g}")
    return int(violated)
