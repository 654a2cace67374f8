"""The audited question of private SGD: weights that were broadcast, and the passes of fit and sweep."""

from __future__ import annotations

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Asked, Path, Randomizer, message_of
from lpbench.audit.world import N_FEATURES, PUBLIC
from lpbench.estimators.binary import with_constant
from lpbench.estimators.psgd.device import GRADIENT, TINY, GradientQuestion
from lpbench.estimators.psgd.neural import Layers
from lpbench.estimators.psgd.passes import Linear, Sample
from lpbench.estimators.psgd.warm_start import initial_layers
from lpbench.privacy import Records, SignedPrivUnitG
from lpbench.seeds import Streams

#: The broadcast weights of the network are random ones times this, so that some gradients are longer than 1.
_WEIGHT_SCALE = 4.0


@builds(models.PSGD)
def gradient(model: models.PSGD) -> Randomizer:
    """One step of the pass, by the recursion that ``fit`` runs; the report is what it moves the weights by."""
    asked = gradient_asked(model, N_FEATURES)
    message = message_of(GRADIENT, asked.question, asked.records, asked.fit, asked.sweep)
    bits = asked.question.mechanism.bits
    # Each report moves the weights and is forgotten.
    return Randomizer("", "ldp", model.epsilon, [message], len(asked.records), bits_down=bits, keep="sums")


def gradient_asked(model: models.PSGD, n_features: int) -> Asked:
    """The question at linear weights 0 or at random ones of a network, to users at three places with either label."""
    hidden, n_inputs = model._n_hidden(n_features + 1), n_features + 1
    weights: Linear | Layers = Linear(np.zeros(n_inputs))
    if hidden:
        layers = initial_layers(n_inputs, hidden, PUBLIC.generator("weights"))
        weights = Layers(_WEIGHT_SCALE * layers.hidden, _WEIGHT_SCALE * layers.output)
    question = GradientQuestion(weights, SignedPrivUnitG(model.epsilon, model._n_parameters(n_inputs)))
    places = np.zeros((3, n_features))
    places[1, -1], places[2] = 1.0, 1.0
    records = Records(np.repeat(places, 2, axis=0), np.tile([0.0, 1.0], 3))

    def summed(records: Records, question: GradientQuestion, streams: Streams) -> np.ndarray:
        """Sum of all users' reports at the weights, by the pass of fit and sweep with steps too short to move them."""
        sample = Sample(with_constant(records.X), records.y, None, None, np.arange(2), streams)
        users = model._users([sample], np.zeros(1, dtype=int), [question.mechanism])
        return question.moved(question.start(users, TINY).run(), TINY)[0]

    path = Path("NeuralPass.run" if hidden else "LinearPass.run", summed)
    return Asked(GRADIENT, question, records, path, path)
