"""HistOfTree from sums over chunks: the model of all users at once, bit for bit whatever the chunks."""

import numpy as np
import pytest

from lpbench.deployment.histoftree import HistOfTreeClient, HistOfTreeCurator, UserDraws
from lpbench.deployment.streams import CellStream, Design, LabelStream, MaskCounts, SlicedDraws
from lpbench.deployment.wire import user_token
from lpbench.errors import ConfigurationError
from lpbench.estimators import HistOfTree
from lpbench.estimators.histoftree.user_cells import ReportDraws
from lpbench.seeds import Streams

Y_RANGE = (-1.0, 2.0)
SECRET = b"0123456789abcdef"


def sample(n, d=3, seed=0, personal=True):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.clip(X @ np.linspace(0.2, 1.0, d) - 0.5 + 0.1 * rng.standard_normal(n), *Y_RANGE)
    mask = np.zeros((n, d), dtype=bool)
    mask[:, 0] = True
    if personal:
        mask[:, 1:] = rng.random((n, d - 1)) < 0.3
    return X, y, mask


def streamed(model, X, y, mask, streams, chunk, places=1):
    """All steps on chunks of users that report at several places."""
    starts = range(0, len(X), chunk)

    def collect(make, add):
        found = [make() for _ in range(places)]
        for number, start in enumerate(starts):
            add(found[number % places], start, slice(start, start + chunk))
        for other in found[1:]:
            found[0].merge(other)
        return found[0]

    def users(start, part):
        return design.simulate(X[part], y[part], mask[part], SlicedDraws(streams, start, len(X[part])))

    def add_labels(stream, start, part):
        sent = users(start, part)
        stream.add(sent.labels(), sent.shown, mask[part])

    def add_cells(stream, start, part):
        sent = users(start, part)
        stream.add(sent.cells(tree), sent.labels(), sent.shown, mask[part])

    masks = collect(lambda: MaskCounts(X.shape[1]), lambda counts, start, part: counts.add(mask[part]))
    design = Design.of(model, masks)
    tree = collect(lambda: LabelStream(design), add_labels).grow()
    return collect(lambda: CellStream(design, tree), add_cells).fit()


MODELS = {
    "aligned": (HistOfTree(2.0, bins=2, depth=3, y_range=Y_RANGE), False),
    "personal": (HistOfTree(2.0, bins=3, depth=2, y_range=Y_RANGE), True),
    "large grid": (HistOfTree(3.0, n_grid_features=2, bins=3, depth=2, y_range=Y_RANGE), True),
    "no tree": (HistOfTree(2.0, n_grid_features=3, bins=2, depth=2, y_range=Y_RANGE), True),
    "no grid": (HistOfTree(2.0, n_grid_features=0, depth=3, y_range=Y_RANGE), True),
    "one bin": (HistOfTree(2.0, bins=1, depth=2, y_range=Y_RANGE), True),
    "random": (HistOfTree(1.0, bins=2, depth=2, rule="random", y_range=Y_RANGE), True),
    "label only": (HistOfTree(1.0, bins=1, depth=2, label_share=1.0, y_range=Y_RANGE), False),
    "not private": (HistOfTree(np.inf, bins=2, depth=2, y_range=Y_RANGE), True),
}


@pytest.mark.parametrize("name", MODELS)
def test_chunks_and_places_change_no_bit_and_the_model_is_that_of_fit(name):
    model, personal = MODELS[name]
    X, y, mask = sample(700, personal=personal)
    streams, queries = Streams(11), np.random.default_rng(1).random((400, 3))
    model = model.set_params(random_state=streams)
    whole = streamed(model, X, y, mask, streams, 700)
    for chunk, places in ((7, 1), (97, 3), (256, 2)):
        if chunk > 7 or name == "personal":
            other = streamed(model, X, y, mask, streams, chunk, places)
            np.testing.assert_array_equal(other.predict(queries), whole.predict(queries))
    fitted = model.fit(X, y, mask=mask)
    np.testing.assert_array_equal(whole.tree_.feature, fitted.tree_.feature)
    np.testing.assert_array_equal(whole.tree_.threshold, fitted.tree_.threshold)
    # labels are rounded to a millionth of their range
    np.testing.assert_allclose(whole.predict(queries), fitted.predict(queries), atol=2e-4)


def test_stream_takes_what_clients_send():
    """Cells of the protocol's clients, collected by the protocol and by a stream."""
    X, y, mask = sample(60)
    model = HistOfTree(4.0, bins=2, depth=2, noise="discrete", y_range=Y_RANGE, random_state=3)
    curator = HistOfTreeCurator(model, 3, SECRET)
    streams = Streams(5)
    draws, clients = ReportDraws(streams, 60), []
    for i in range(60):
        row = slice(i, i + 1)
        bins = {j: draws.bins([j])[row, 0] for j in range(3)}
        own = UserDraws(draws.label[row], draws.keep[row], draws.leaf[row], bins, draws.bits_seed, i)
        clients.append(HistOfTreeClient(i, user_token(SECRET, i), 4.0, X[i], y[i], mask[i], own))
    first = curator.collector(1)
    first.add(client.answer(curator.first) for client in clients)
    content = curator.close_labels(first)
    second = curator.collector(2)
    second.add(client.answer(content) for client in clients)

    (_, rows), (_, cells) = first.rows(), second.rows()
    labels, shown, hidden = rows[:, 0], rows[:, 4:], rows[:, 1:4] > 0
    counts = MaskCounts(3)
    counts.add(hidden)
    design = Design.of(model, counts)
    growing = LabelStream(design)
    growing.add(labels, shown, hidden)
    stream = CellStream(design, growing.grow())
    stream.add(cells[:, 0].astype(int), labels, shown, hidden)
    queries = np.random.default_rng(1).random((300, 3))
    expected = curator.fit(second).predict(queries)
    np.testing.assert_allclose(stream.fit().predict(queries), expected, atol=2e-4)
    np.testing.assert_array_equal(design.simulate(X, y, mask, SlicedDraws(streams, 0, 60)).labels(), labels)


def test_draws_of_some_users_are_those_among_all():
    streams = Streams(3)
    together, apart = ReportDraws(streams, 1000), SlicedDraws(streams, 371, 100)
    part = slice(371, 471)
    np.testing.assert_array_equal(apart.label, together.label[part])
    np.testing.assert_array_equal(apart.keep, together.keep[part])
    np.testing.assert_array_equal(apart.leaf, together.leaf[part])
    np.testing.assert_array_equal(apart.bins([0, 1]), together.bins([0, 1])[part])


def test_memory_does_not_depend_on_the_number_of_users():
    model = HistOfTree(2.0, bins=2, depth=3, y_range=Y_RANGE, random_state=0)
    sizes = set()
    for n in (10, 1000):
        X, y, mask = sample(n)
        counts = MaskCounts(3)
        counts.add(mask)
        design = Design.of(model, counts)
        stream = LabelStream(design)
        stream.add(y, X, mask)
        sizes.add(stream.nbytes)
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"y_range": None}, "y_range=None"),
        ({"rule": "cart"}, "rule='cart' cannot be streamed"),
        ({"mechanism": "rr"}, "mechanism='rr' cannot be streamed"),
        ({"n_grid_features": 3, "bins": 50}, "cells"),
    ],
)
def test_what_sums_cannot_serve_is_refused(change, named):
    counts = MaskCounts(3)
    counts.add(np.zeros((2, 3), dtype=bool))
    with pytest.raises(ConfigurationError, match=named):
        Design.of(HistOfTree(y_range=Y_RANGE).set_params(**change), counts)


def test_impossible_reports_are_refused():
    X, y, mask = sample(5)
    counts = MaskCounts(3)
    counts.add(mask)
    design = Design.of(HistOfTree(bins=2, depth=1, y_range=Y_RANGE, random_state=0), counts)
    growing = LabelStream(design)
    with pytest.raises(ConfigurationError, match="nobody"):
        growing.grow()
    with pytest.raises(ValueError, match="finite"):
        growing.add(np.full(5, np.nan), X, mask)
    growing.add(y, X, mask)
    stream = CellStream(design, growing.grow())
    with pytest.raises(ConfigurationError, match="nobody"):
        stream.fit()
    with pytest.raises(ValueError, match="cells must be"):
        stream.add(np.full(5, 99), y, X, mask)
