"""Privacy audit: what leaves a device in every method, its exact loss, and what sampling alone can prove about it."""

from lpbench.audit.devices import audited_methods, builds, method_randomizer, randomizer_of
from lpbench.audit.empirical import LowerBound, detectable, lower_bound
from lpbench.audit.exact import ExactLoss, exact_loss
from lpbench.audit.randomizers import Asked, Message, Path, Randomizer, asked_once, message_of
from lpbench.privacy import Channel

__all__ = [
    "Asked",
    "Channel",
    "ExactLoss",
    "LowerBound",
    "Message",
    "Path",
    "Randomizer",
    "asked_once",
    "audited_methods",
    "builds",
    "detectable",
    "exact_loss",
    "lower_bound",
    "message_of",
    "method_randomizer",
    "randomizer_of",
]
