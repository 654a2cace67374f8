"""The devices of all protocols, for tests that hold for each of them: records, and a campaign's broadcasts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from lpbench.deployment.broadcast import Broadcast
from lpbench.deployment.calibrated_score import CalibratedScoreClient, CalibratedScoreCurator
from lpbench.deployment.histoftree import HistOfTreeClient, HistOfTreeCurator
from lpbench.deployment.lpct import LPCTClient, LPCTCurator
from lpbench.deployment.residual_gp import ResidualGPClient, ResidualGPCurator
from lpbench.deployment.wire import user_token
from lpbench.estimators import LPCT, CalibratedScore, HistOfTree, ResidualGP

SECRET = b"0123456789abcdef"
LIMIT, N_USERS, Y_RANGE = 2.0, 40, (-1.0, 2.0)
CLASSES = [0, 1, 2]


@dataclass(frozen=True)
class Device:
    """A protocol's device.

    Attributes
    ----------
    make : callable (user, protected, **options) -> Client
        ``protected``: random seed of the record's protected values. What is public depends on ``user`` alone.
    broadcasts : callable () -> list of bytes
        Broadcasts of all rounds of an honest campaign, as user 0 receives them.
    """

    make: Callable
    broadcasts: Callable


def record(user, protected, d=3):
    """Features and label in [0, 1]; feature 0 is protected, the others are public."""
    x = np.random.default_rng([1, user]).random(d)
    secret = np.random.default_rng([2, protected])
    x[0] = secret.choice([0.0, 1.0, secret.random()])
    return x, secret.choice([0.0, 1.0, secret.random()])


def histoftree_client(user, protected, **options):
    x, y = record(user, protected)
    # Labels outside the announced range, too.
    return HistOfTreeClient(user, user_token(SECRET, user), LIMIT, x, 5 * y - 2, [True, False, False], **options)


def histoftree_broadcasts(mechanism):
    model = HistOfTree(LIMIT, bins=2, depth=2, mechanism=mechanism, noise="discrete", y_range=Y_RANGE, random_state=0)
    curator = HistOfTreeCurator(model, 3, SECRET)
    first = curator.collector(1)
    first.add(histoftree_client(user, user).answer(curator.first) for user in range(N_USERS))
    return [curator.first, curator.close_labels(first)]


def lpct_client(user, protected, **options):
    rng = np.random.default_rng([3, protected])
    return LPCTClient(
        user, user_token(SECRET, user), LIMIT, 3 * rng.random(3) - 1, rng.choice(CLASSES), CLASSES, **options
    )


def lpct_broadcasts(**options):
    rng = np.random.default_rng(4)
    model = LPCT(LIMIT, depth=3, min_samples_leaf=0, random_state=0, **options)
    return [LPCTCurator(model, rng.random((30, 3)), rng.choice(CLASSES, 30), CLASSES, SECRET).first]


def residual_gp_client(user, protected, **options):
    x, y = record(user, protected)
    return ResidualGPClient(user, user_token(SECRET, user), LIMIT, x, 5 * y - 2, [True, False, False], **options)


def residual_gp_broadcasts(**changes):
    curator = ResidualGPCurator(ResidualGP(LIMIT, y_range=Y_RANGE, random_state=0), 3, SECRET)
    first = curator.enrolment()
    first.add(residual_gp_client(user, user).answer(curator.first) for user in range(N_USERS))
    curator.close_enrolment(first)
    contents, _ = next(curator.groups())
    settings = Broadcast.decode(next(iter(contents.values()))).settings
    return [curator.first, Broadcast({**settings, **changes}).encode()]


def calibrated_score_client(user, protected, **options):
    rng = np.random.default_rng([3, protected])
    # Features beyond single precision, too.
    x = rng.random(2) * rng.choice([1.0, -1.0, 1e300])
    return CalibratedScoreClient(user, user_token(SECRET, user), LIMIT, x, rng.choice(CLASSES), CLASSES, **options)


def calibrated_score_broadcasts(**options):
    rng = np.random.default_rng(4)
    model = CalibratedScore(LIMIT, random_state=0, **options)
    return [CalibratedScoreCurator(model, rng.random((30, 2)), rng.choice(CLASSES, 30), CLASSES, 2000, SECRET).first]


DEVICES = {
    "HistOfTree (grr)": Device(histoftree_client, cache(lambda: histoftree_broadcasts("grr"))),
    "HistOfTree (rr)": Device(histoftree_client, cache(lambda: histoftree_broadcasts("rr"))),
    "LPCT (discrete)": Device(lpct_client, cache(lambda: lpct_broadcasts(noise="discrete"))),
    "ResidualGP": Device(residual_gp_client, cache(residual_gp_broadcasts)),
    "ResidualGP (joint)": Device(
        residual_gp_client,
        cache(lambda: residual_gp_broadcasts(levels=4, bins=3, column=0, effects=[[0, [0.2, -0.1]], [2, [0.1]]])),
    ),
    "CalibratedScore": Device(calibrated_score_client, cache(calibrated_score_broadcasts)),
    "LPCT (rr)": Device(lpct_client, cache(lambda: lpct_broadcasts(mechanism="rr"))),
}


def ready(device, user, protected, number, **options):
    """A client that has answered all rounds before ``number``."""
    client = device.make(user, protected, **options)
    for content in device.broadcasts()[: number - 1]:
        client.answer(content)
    return client
