"""Known-bad methods: leaks and overdrafts patched into registered estimators, each of which the audit must catch."""

from __future__ import annotations

from lpbench.audit.mutants import Mutant
from lpbench.audit.mutants_of_any_learner import ANY_LEARNER
from lpbench.audit.mutants_of_labels import LABELS
from lpbench.audit.mutants_of_private_selection import PRIVATE_SELECTION
from lpbench.audit.mutants_of_public_samples import PUBLIC_SAMPLES
from lpbench.audit.mutants_of_sums import SUMS
from lpbench.audit.mutants_of_tuning_free import TUNING_FREE

#: Name -> mutant.
KNOWN_BAD_METHODS: dict[str, Mutant] = {
    **LABELS,
    **SUMS,
    **TUNING_FREE,
    **ANY_LEARNER,
    **PUBLIC_SAMPLES,
    **PRIVATE_SELECTION,
}
