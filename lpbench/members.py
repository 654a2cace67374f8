"""The cast list: methods, masks and data sets of an experiment's tables, with what their selectors say of them.

Tables hold selectors such as ``krr[variant=text]`` as keys. A selector is read where it is typed (``cli``), where
configurations are composed (:mod:`lpbench.experiments.catalog`) and here, once; all others look its member up.
"""

from dataclasses import dataclass
from functools import cache

from lpbench.selectors import Selector as Selector
from lpbench.selectors import parse_selector

#: The method that ratios are relative to (H: the non-private tree).
BASELINE = "dt"
#: Non-private references: shown beside the methods, never ranked against them.
REFERENCES = ("ct_w", BASELINE)
#: Constant baselines: one privatized number, predicted for everybody. Losses are compared with the first one of these
#: that was run, chosen here and not by its scores.
CONSTANTS = ("private_constant", "private_majority", "private_mean")
#: Learners on public rows alone, of which the best is what private users have to add to.
PUBLIC_ONLY = (
    *("public_forest", "public_forest_regressor", "ct_q"),
    *("public_learner_classifier", "public_learner_regressor"),
)


@dataclass(frozen=True)
class Member(Selector):
    """A method, mask or data set, by its name and the parameters that its selector fixes."""

    @property
    def variant(self) -> str:
        """Named preset of a method, if any."""
        return str(self.params.get("variant", ""))

    @property
    def is_preset(self) -> bool:
        """True for a bare name or a named variant, without any parameter fixed by hand."""
        return {*self.params} <= {"variant"}

    @property
    def is_constant(self) -> bool:
        """Return True for the constant baselines, which read no feature."""
        return self.name in CONSTANTS

    @property
    def is_reference(self) -> bool:
        """Return True for the baselines without privacy."""
        return self.name in REFERENCES

    def without(self, *parameters: str) -> str:
        """Return the selector without some of its parameters."""
        return str(Selector(self.name, {key: value for key, value in self.params.items() if key not in parameters}))


@cache  # of a few thousand selectors, which are asked for a million times
def member(selector: str) -> Member:
    """Return the member of a selector; one without a name for an empty text (no mask, no data set)."""
    return Member(*parse_selector(selector)) if selector else Member("")


def bare_name(selector: str) -> str:
    """Return the name of a selector without its parameters; empty for an empty one."""
    return member(selector).name


def is_ranked(method: str) -> bool:
    """Return True if a method takes part in ranks and tests."""
    return not member(method).is_reference
