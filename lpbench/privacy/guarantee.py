"""Guarantee: the privacy that a fitted method has spent, and the bits it sent."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from lpbench.checks import check_choice, check_number

#: Privacy models, from the strongest trust assumption on nobody to none at all.
MODELS = {
    "ldp": "features and label are randomized on the device",
    "semi_feature_ldp": "the label and the features protected by the mask are randomized on the device",
    "label_ldp": "the label is randomized on the device, features are public",
    "cdp": "a trusted curator; the output hides one whole record",
    "label_cdp": "a trusted curator; the output hides one label",
    "none": "no protection",
}


@dataclass(frozen=True)
class Guarantee:
    """Privacy spent by one user over all rounds.

    Attributes
    ----------
    model : str
        A key of :data:`MODELS`.
    epsilon, delta : float
        Exact budget spent (``inf`` means no protection).
    rounds : int
        Number of messages a user sends.
    bits_up : float
        Bits one user sends over all rounds (64 per real number; entropy-coded reports count their exact length).
    bits_down : float
        Bits broadcast to one user (partition, thresholds).
    note : str
        Caveats, e.g. a public bound that was taken from protected data.
    beside : str
        What users give away that epsilon does not count, such as a mask that differs from user to user.
    """

    model: str
    epsilon: float
    delta: float = 0.0
    rounds: int = 1
    bits_up: float = math.nan
    bits_down: float = 0.0
    note: str = ""
    beside: str = ""

    def __post_init__(self) -> None:
        check_choice("model", self.model, MODELS)
        epsilon = check_number("epsilon", self.epsilon, least=0, infinite=True)
        delta = check_number("delta", self.delta, least=0, below=1)
        # plain numbers, whatever numpy made of them
        vars(self).update(epsilon=epsilon, delta=delta, bits_up=float(self.bits_up), bits_down=float(self.bits_down))

    def __str__(self) -> str:
        """Return a sentence: the protected part, the budget, and the messages of a user."""
        note = f" ({self.note})" if self.note else ""
        if self.model == "none":
            return f"No protection: the records are read as they are{note}."
        budget = f"epsilon = {self.epsilon:g}" + (f" and delta = {self.delta:.3g}" if self.delta else "")
        sends = f"{self.rounds} message{'s' * (self.rounds != 1)}"
        bits = "" if math.isnan(self.bits_up) else f" of {self.bits_up:.6g} bits" + " in all" * (self.rounds != 1)
        spends = f"A user spends {budget} ({self.model}: {MODELS[self.model]}) and sends {sends}{bits}{note}."
        belief = believed(self.epsilon, self.delta)
        return " ".join(filter(None, [spends, f"{belief[:1].upper()}{belief[1:]}.", self.beside]))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary.

        Returns
        -------
        dict of str to object
            Field name -> value, nothing left out.
        """
        return asdict(self)


def believed(epsilon: float, delta: float = 0.0, fits: str = "one fit") -> str:
    """A budget in words: the belief in a binary secret, whose odds rise by at most e^epsilon (Bayes' rule)."""
    most = 1.0 / (1.0 + math.exp(-epsilon))
    but = f", but for a chance of {delta:.3g}" if delta else ""
    percentage = f"{most:.1%}" if 0.99 <= most < 1 else f"{most:.0%}"
    secret = "whoever was believed to have a binary secret with 50 %"
    return f"{secret} is believed with at most {percentage} after {fits}{but}"
