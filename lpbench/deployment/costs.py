"""Costs of protocols and methods, measured on serialised reports: bits up and down, memory of the curator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lpbench.audit.costs import Cost, WireCost
from lpbench.audit.devices import audited_methods, method_randomizer
from lpbench.audit.randomizers import Randomizer
from lpbench.deployment.calibrated_score import CalibratedScoreClient, CalibratedScoreCurator
from lpbench.deployment.client import Client
from lpbench.deployment.collector import Collector, Round
from lpbench.deployment.histoftree import HistOfTreeClient, HistOfTreeCurator
from lpbench.deployment.lpct import LPCTClient, LPCTCurator
from lpbench.deployment.residual_gp import ResidualGPClient, ResidualGPCurator
from lpbench.deployment.wire import seal, user_token
from lpbench.estimators import LPCT, CalibratedScore, HistOfTree, ResidualGP
from lpbench.privacy.payload import Reals, pack, payload_bits
from lpbench.seeds import Streams

_SECRET = bytes(16)
#: Users of the measured protocols, and of the collectors that are fed transcripts of each method.
N_USERS, N_SENDERS = 1000, 64
#: Users of the protocols in which curator and devices compute much.
N_INTERVIEWED = 200


def measure_protocols(seed: int) -> list[Cost]:
    """Run all protocols with real clients (d = 8), and measure; HistOfTree has s = 2, t = 2, p = 4, LPCT depth 4."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((N_USERS, 8)), rng.random(N_USERS)
    costs = []
    for mechanism in ("grr", "rr"):
        model = HistOfTree(1.0, bins=2, depth=4, mechanism=mechanism, noise="discrete", y_range=(0.0, 1.0))
        costs += _histoftree(model.set_params(random_state=0), X, y)
    for name, mechanism, noise in (("discrete", "laplace", "discrete"), ("rr", "rr", "sum")):
        tree = LPCT(1.0, depth=4, min_samples_leaf=0, mechanism=mechanism, noise=noise, random_state=0)
        curator = LPCTCurator(tree, X[:50], y[:50] > 0.5, [False, True], _SECRET)
        clients = [LPCTClient(i, user_token(_SECRET, i), 1.0, X[i], y[i] > 0.5, [False, True]) for i in range(N_USERS)]
        costs.append(_round(f"LPCT ({name})", curator.collector(), curator.first, clients))
    few = slice(0, N_INTERVIEWED)
    return [
        *costs,
        *_residual_gp(X[few], y[few], rng.random((3, N_INTERVIEWED))),
        _calibrated_score(X[few], y[few] > 0.5),
    ]


def _residual_gp(X: np.ndarray, y: np.ndarray, draws: np.ndarray) -> list[Cost]:
    """Enrolment, and the interview of all groups: the longest report and question, and what is held of all reports.

    The length of a question depends on the reports before it, and so on the users' draws.
    """
    mask, (n, d) = np.arange(X.shape[1]) < 2, X.shape
    curator = ResidualGPCurator(ResidualGP(1.0, y_range=(0.0, 1.0), random_state=0), d, _SECRET)
    clients = [ResidualGPClient(i, user_token(_SECRET, i), 1.0, X[i], y[i], mask, draws[:, [i]]) for i in range(n)]
    enrolment = curator.enrolment()
    costs = [_round("ResidualGP", enrolment, curator.first, clients)]
    curator.close_enrolment(enrolment)
    groups = []
    for contents, rules in curator.groups():
        collector = curator.collector(rules)
        reports = _collect("ResidualGP", collector, [clients[user].answer(c) for user, c in contents.items()])
        groups.append(_cost("ResidualGP", collector, reports, 8 * max(map(len, contents.values()))))
        curator.learn(collector)
    longest = max(groups, key=lambda cost: cost.payload_bits)
    held, down = sum(g.curator_bytes for g in groups), max(g.bits_down for g in groups)
    return [*costs, replace(longest, users=n, bits_down=down, curator_bytes=held)]


def _calibrated_score(X: np.ndarray, y: np.ndarray) -> Cost:
    model, classes = CalibratedScore(1.0, random_state=0), [False, True]
    curator = CalibratedScoreCurator(model, X[:50], y[:50], classes, len(X), _SECRET)
    clients = [CalibratedScoreClient(i, user_token(_SECRET, i), 1.0, X[i], y[i], classes) for i in range(len(X))]
    return _round("CalibratedScore", curator.collector(), curator.first, clients)


def _histoftree(model: HistOfTree, X: np.ndarray, y: np.ndarray) -> list[Cost]:
    name = f"HistOfTree ({model.mechanism})"
    mask = np.arange(X.shape[1]) < 2
    curator = HistOfTreeCurator(model, X.shape[1], _SECRET)
    clients = [HistOfTreeClient(i, user_token(_SECRET, i), model.epsilon, X[i], y[i], mask) for i in range(len(X))]
    first = curator.collector(1)
    costs = [_round(name, first, curator.first, clients)]
    curator.close_labels(first)
    return [*costs, _round(name, curator.collector(2), curator.second, clients)]


def _round(name: str, collector: Collector, broadcast: bytes, clients: Sequence[Client]) -> Cost:
    reports = _collect(name, collector, [client.answer(broadcast) for client in clients])
    return _cost(name, collector, reports, 8 * len(broadcast))


def _collect(name: str, collector: Collector, reports: Sequence[bytes]) -> Sequence[bytes]:
    refused = set(collector.add(reports)) - {""}
    if refused:
        raise RuntimeError(f"{name}: honest reports were refused: {refused}")
    return reports


def _cost(name: str, collector: Collector, reports: Sequence[bytes], bits_down: int) -> Cost:
    rules = collector.round
    return Cost(
        name,
        len(reports),
        rules.number,
        payload_bits(rules.fields),
        len(reports[0]),
        bits_down,
        collector.memory()["reports"],
        rules.keep,
    )


def measure_methods(epsilon: float, seed: int) -> dict[str, WireCost]:
    """Serialise transcripts of every method and collect them; one that does not fit its fields is an error."""
    return {name: randomizer_cost(method_randomizer(name, epsilon), seed) for name in audited_methods()}


def randomizer_cost(randomizer: Randomizer, seed: int) -> WireCost:
    """Serialise transcripts of one method, round by round, and collect them."""
    sent_bytes, held = 0, 0.0
    for number in range(1, randomizer.rounds + 1):
        reports, collector = _collect_round(randomizer, number, Streams(seed).child("wire", round=number))
        sent_bytes += len(reports[0])
        held += collector.memory()["reports"] / (N_SENDERS if randomizer.keep == "rows" else 1)
    return WireCost(sent_bytes, held, randomizer.keep)


def _collect_round(randomizer: Randomizer, number: int, streams: Streams) -> tuple[list[bytes], Collector]:
    # What users of other groups send in its place is counted with the longest.
    messages = [m for m in randomizer.messages if m.round == number and m.fields]
    # What is public goes along with the first message, as it is.
    public = int(randomizer.public_bits / 64) if number == 1 else 0
    fields = (*([Reals(public)] if public else []), *(f for m in messages for f in m.fields))
    sent = [np.zeros((N_SENDERS, public))]
    sent += [np.asarray(m.send(0, N_SENDERS, streams), dtype=float).reshape(N_SENDERS, -1) for m in messages]
    collector = Collector(Round(number, b"audit...", fields, randomizer.keep), _SECRET)
    reports = [
        seal(b"audit...", number, user, payload.tobytes(), user_token(_SECRET, user))
        for user, payload in enumerate(pack(fields, np.hstack(sent)))
    ]
    if set(collector.add(reports)) != {""}:
        raise RuntimeError(f"{randomizer.name}: transcripts of round {number} do not survive the wire")
    return reports, collector
