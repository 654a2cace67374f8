"""HistOfTree's protocol equals its simulation: bit for bit with the same draws, in distribution with fresh ones."""

import numpy as np
import pytest

from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.histoftree import HistOfTreeClient, HistOfTreeCurator, UserDraws
from lpbench.deployment.wire import user_token
from lpbench.errors import ConfigurationError
from lpbench.estimators import AdHistOfTree, HistOfTree
from lpbench.estimators.histoftree.user_cells import ReportDraws
from lpbench.seeds import Streams
from tests.privacy.laws import assert_same_law

SECRET = b"0123456789abcdef"
Y_RANGE = (-1.0, 2.0)


def sample(n, d=3, seed=0, personal=True):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.clip(X @ np.linspace(0.2, 1.0, d) - 0.5 + 0.1 * rng.standard_normal(n), *Y_RANGE)
    mask = np.zeros((n, d), dtype=bool)
    mask[:, 0] = True
    if personal:
        mask[:, 1] = rng.random(n) < 0.3
    return X, y, mask


def clients_of(X, y, mask, limit, streams=None):
    n, d = X.shape
    shared = None if streams is None else ReportDraws(streams, n)
    columns = None if shared is None else {j: shared.bins([j])[:, 0] for j in range(d)}
    made = []
    for i in range(n):
        draws = None
        if shared is not None:
            row = slice(i, i + 1)
            bins = {j: c[row] for j, c in columns.items()}
            draws = UserDraws(shared.label[row], shared.keep[row], shared.leaf[row], bins, shared.bits_seed, i)
        made.append(HistOfTreeClient(i, user_token(SECRET, i), limit, X[i], y[i], mask[i], draws))
    return made


def collect(curator, number, reports, order, chunks=3, shards=2):
    """Send the reports in the given order, in chunks, to several collectors, and merge these."""
    collectors = [curator.collector(number, shard, shards) for shard in range(shards)]
    for part in np.array_split(order, chunks):
        for shard, collector in enumerate(collectors):
            mine = [reports[i] for i in part if i % shards == shard]
            assert collector.add(mine) == [""] * len(mine)
    for other in collectors[1:]:
        collectors[0].merge(other)
    return collectors[0]


def run(model, X, y, mask, streams=None, seed=0, chunks=3, shards=2):
    curator = HistOfTreeCurator(model, X.shape[1], SECRET)
    clients = clients_of(X, y, mask, model.epsilon, streams)
    rng = np.random.default_rng(seed)
    first = [client.answer(curator.first) for client in clients]
    content = curator.close_labels(collect(curator, 1, first, rng.permutation(len(X)), chunks, shards))
    second = [client.answer(content) for client in clients]
    return curator.fit(collect(curator, 2, second, rng.permutation(len(X)), chunks, shards)), clients


MODELS = {
    "aligned grr": (HistOfTree(2.0, bins=2, depth=2, noise="discrete", y_range=Y_RANGE), False),
    "personal grr": (HistOfTree(2.0, bins=3, depth=2, noise="discrete", y_range=Y_RANGE), True),
    "personal rr": (HistOfTree(2.0, bins=2, depth=2, mechanism="rr", noise="discrete", y_range=Y_RANGE), True),
    "cart": (HistOfTree(1.0, bins=2, depth=3, rule="cart", noise="discrete", y_range=Y_RANGE), True),
    "aligned cart rr": (
        HistOfTree(1.0, bins=2, depth=2, rule="cart", mechanism="rr", noise="discrete", y_range=Y_RANGE),
        False,
    ),
    "random": (HistOfTree(1.0, bins=2, depth=2, rule="random", noise="discrete", y_range=Y_RANGE), True),
    "label only": (HistOfTree(1.0, bins=1, depth=2, label_share=1.0, noise="discrete", y_range=Y_RANGE), False),
    "adaptive": (AdHistOfTree(2.0, noise="discrete", y_range=Y_RANGE), True),
}


@pytest.mark.parametrize("name", MODELS)
def test_same_draws_give_the_same_model_to_the_last_bit(name):
    model, personal = MODELS[name]
    X, y, mask = sample(150, personal=personal)
    streams = Streams(11)
    model = model.set_params(random_state=streams)
    simulated = model.fit(X, y, mask=mask)
    received, clients = run(model, X, y, mask, streams)
    queries = np.random.default_rng(1).random((500, 3))
    np.testing.assert_array_equal(received.predict(queries), simulated.predict(queries))
    assert all(client.spent <= model.epsilon * (1 + 1e-12) for client in clients)


def test_order_chunks_and_collectors_change_nothing():
    model, _ = MODELS["personal grr"]
    X, y, mask = sample(90)
    streams, queries = Streams(5), np.random.default_rng(2).random((200, 3))
    model = model.set_params(random_state=streams)
    results = [
        run(model, X, y, mask, streams, seed, chunks, shards)[0].predict(queries)
        for seed, chunks, shards in ((0, 1, 1), (1, 7, 1), (2, 90, 3))
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_fresh_draws_have_the_law_of_the_simulation():
    X, y, mask = sample(12)
    query = np.full((1, 3), 0.4)
    model = HistOfTree(4.0, bins=2, depth=1, noise="discrete", y_range=Y_RANGE, clip=False)
    simulated = [model.set_params(random_state=s).fit(X, y, mask=mask).predict(query)[0] for s in range(300)]
    real = [
        run(model.set_params(random_state=s), X, y, mask, chunks=1, shards=1)[0].predict(query)[0] for s in range(130)
    ]
    assert_same_law(simulated, real)


def test_users_who_leave_after_round_one_are_left_out():
    X, y, mask = sample(60)
    model = HistOfTree(2.0, bins=2, depth=1, noise="discrete", y_range=Y_RANGE, random_state=0)
    curator = HistOfTreeCurator(model, 3, SECRET)
    clients = clients_of(X, y, mask, 2.0)
    first = curator.collector(1)
    first.add(client.answer(curator.first) for client in clients)
    content = curator.close_labels(first)
    second = curator.collector(2)
    second.add(client.answer(content) for client in clients[:40])
    fitted = curator.fit(second)
    assert second.accepted == 40 and np.isfinite(fitted.predict(X)).all()


def test_a_cell_that_contradicts_public_features_is_impossible():
    X, y, mask = sample(30, personal=False)
    model = HistOfTree(2.0, bins=2, depth=2, noise="discrete", y_range=Y_RANGE, random_state=0)
    curator = HistOfTreeCurator(model, 3, SECRET)
    honest, liars = clients_of(X, y, mask, 2.0), clients_of(1 - X, y, mask, 2.0)
    first = curator.collector(1)
    first.add(client.answer(curator.first) for client in honest)
    content = curator.close_labels(first)
    [client.answer(curator.first) for client in liars]
    second, before = curator.collector(2), curator.collector(2).state()
    assert set(second.add(client.answer(content) for client in liars)) <= {"", "impossible"}
    assert second.rejected["impossible"] > 0 and second.accepted + second.rejected["impossible"] == 30
    stranger = HistOfTreeClient(99, user_token(SECRET, 99), 2.0, X[0], y[0], mask[0])
    stranger.answer(curator.first)
    third = curator.collector(2)
    assert third.add([stranger.answer(content)]) == ["impossible"] and third.state() == before


def test_the_device_keeps_to_its_limit():
    X, y, mask = sample(2)
    curator = HistOfTreeCurator(HistOfTree(2.0, noise="discrete", y_range=Y_RANGE), 3, SECRET)
    (poor, client) = clients_of(X, y, mask, 2.0)
    poor.limit = 0.5
    with pytest.raises(ProtocolError, match=r"only 0\.5 is left"):
        poor.answer(curator.first)
    assert poor.spent == 0
    client.answer(curator.first)
    with pytest.raises(ProtocolError, match="answered once"):
        client.answer(curator.first)
    other = HistOfTreeCurator(HistOfTree(1.0, noise="discrete", y_range=Y_RANGE), 3, SECRET)
    reports = other.collector(1)
    reports.add(c.answer(other.first) for c in clients_of(X, y, mask, 2.0))
    with pytest.raises(ProtocolError, match="does not follow"):
        client.answer(other.close_labels(reports))


def test_refusals_of_the_curator():
    with pytest.raises(ConfigurationError, match="y_range"):
        HistOfTreeCurator(HistOfTree(), 3, SECRET)
    with pytest.raises(ConfigurationError, match="noise='laplace'"):
        HistOfTreeCurator(HistOfTree(y_range=Y_RANGE), 3, SECRET)
    with pytest.raises(ConfigurationError, match="epsilon=inf"):
        HistOfTreeCurator(HistOfTree(np.inf, noise="discrete", y_range=Y_RANGE), 3, SECRET)
    with pytest.raises(ConfigurationError, match="constants='tight'"):
        HistOfTreeCurator(HistOfTree(constants="tight", noise="discrete", y_range=Y_RANGE), 3, SECRET)
    X, y, mask = sample(5)
    curator = HistOfTreeCurator(HistOfTree(n_grid_features=3, bins=60, noise="discrete", y_range=Y_RANGE), 3, SECRET)
    with pytest.raises(ProtocolError, match="round 2 opens"):
        curator.collector(2)
    with pytest.raises(ProtocolError, match="nobody"):
        curator.close_labels(curator.collector(1))
    first = curator.collector(1)
    first.add(c.answer(curator.first) for c in clients_of(X, y, mask, 1.0))
    with pytest.raises(ConfigurationError, match="cells are more"):
        curator.close_labels(first)


def test_reports_have_the_length_that_the_paper_counts():
    """HistOfTree A.2: at most d + 1 reals up in round 1, t^s 2^p bits in round 2 (log2 of that many with GRR)."""
    X, y, mask = sample(50, personal=False)
    for mechanism, bits in (("rr", 2 * 4), ("grr", 3)):
        model = HistOfTree(1.0, bins=2, depth=2, mechanism=mechanism, noise="discrete", y_range=Y_RANGE, random_state=0)
        curator = HistOfTreeCurator(model, 3, SECRET)
        clients = clients_of(X, y, mask, 1.0)
        first = curator.collector(1)
        reports = [c.answer(curator.first) for c in clients]
        first.add(reports)
        # The label takes 18 bits: (the range and 42 scales of noise) / step, either way.
        assert {8 * (len(r) - 28) for r in reports} == {8 * -(-(64 * 3 + 3 + 18) // 8)}
        content = curator.close_labels(first)
        assert {8 * (len(c.answer(content)) - 28) for c in clients} == {8 * -(-bits // 8)}
