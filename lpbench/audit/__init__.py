"""Privacy audit: of whole methods by what their users answer, and of anybody's code by sampling it."""

from lpbench.audit.randomizers import ExactLoss, Message, Randomizer, exact_loss
from lpbench.privacy import Channel

__all__ = ["Channel", "ExactLoss", "Message", "Randomizer", "exact_loss"]
