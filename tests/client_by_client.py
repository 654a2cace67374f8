"""Users each of whom holds one record and no other: questions come as bytes, and bits are all that leaves."""

import pickle

import numpy as np

from lpbench.privacy import Records, SimulatedUsers, Users
from lpbench.privacy.device import question_of
from lpbench.privacy.payload import pack, payload_bits, unpack
from lpbench.privacy.spending import Spending, numeric_bits
from lpbench.privacy.users import REAL_BITS, content_hash, taken


class OneOfMany:
    """A generator that hands out one user's part of what is drawn for ``n`` users at once."""

    def __init__(self, generator, n, place):
        self._generator, self._n, self._place = generator, n, place

    def _taken(self, draw, size):
        shape = (size,) if np.ndim(size) == 0 else tuple(size)
        return draw((self._n, *shape[1:]))[[self._place]]

    def random(self, size):
        return self._taken(self._generator.random, size)

    def geometric(self, p, size):
        return self._taken(lambda shape: self._generator.geometric(p, shape), size)

    def integers(self, high, size, **kind):
        # Bits that their first 16 random bits leave open draw more; no user of the tests has such a bit.
        return self._taken(lambda shape: self._generator.integers(high, size=shape, **kind), size)


def one_of(draws, n, place):
    """One user's part of the randomness of ``n`` users."""
    if isinstance(draws, tuple):
        return tuple(one_of(part, n, place) for part in draws)
    if isinstance(draws, np.random.Generator):
        return OneOfMany(draws, n, place)
    return taken(draws, [place])


class ClientByClient(Users):
    """Users who answer each for herself, with the draws that are theirs in the simulation."""

    def __init__(self, records, streams, *, public=None, y_range=None, classes=None):
        self._mask = np.ones(records.X.shape, dtype=bool) if records.mask is None else records.mask
        self._clients = [Records(records.X[[i]], records.y[[i]], self._mask[[i]]) for i in range(len(records))]
        self._streams, self.public, self.y_range, self.classes = streams, public, y_range, classes
        self.n, self.n_features = records.X.shape
        self._everybody, self._numbers, self._spending = self._mask, np.arange(self.n), Spending(self.n)
        self._answered = {}

    @property
    def mask(self):
        return self._mask

    @property
    def public_features(self):
        self._spending.shown_read = True
        return np.concatenate([client.public_features for client in self._clients])

    def ask(self, device, question, who=None):
        device.check(question)
        who, fields = np.arange(self.n) if who is None else np.asarray(who), device.fields(question)
        n, places = (self.n, who) if device.draws_for_all else (who.size, np.arange(who.size))
        payloads = []
        for k, (user, place) in enumerate(zip(who, places, strict=True)):
            received = pickle.loads(pickle.dumps(question_of(question, np.array([k]))))
            own = one_of(device.draws(self._streams, n, question), n, place)
            report = device.report(self._clients[user], received, own)
            payloads.append(pack(fields, np.asarray(report, dtype=float).reshape(1, -1)))
        values, legal = unpack(fields, np.concatenate(payloads))
        assert legal.all()
        self._charge(device, question, who, payload_bits(fields))
        return values.astype(report.dtype).reshape(len(who), *report.shape[1:])

    def _charge(self, device, question, who, bits):
        key = content_hash((type(device).__name__, question, self._numbers[who]))
        if key not in self._answered:
            budgets = [
                device.budgets(self._clients[u], question_of(question, np.array([k]))) for k, u in enumerate(who)
            ]
            of_one = question_of(question, np.arange(1))
            spent = np.ravel(np.concatenate([np.ravel(budget) for budget in budgets]))
            self._spending.charge(self._numbers[who], spent, device.delta(question), bits, numeric_bits(of_one))
        self._answered[key] = True

    def sums(self, device, question, by=None):
        addends = device.addends(self.ask(device, question), question)
        if by is None:
            return device.estimate(addends.sum(axis=0), question, self.n)
        sizes = np.bincount(by)
        sums = np.zeros((sizes.size, addends.shape[1]))
        np.add.at(sums, by, addends)
        return device.estimate(sums, question, sizes[:, None])

    def take(self, who, purpose=None, /, **axes):
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin._mask, twin._clients = self._mask[who], [self._clients[i] for i in who]
        twin.n, twin._numbers = len(who), self._numbers[who]
        twin._streams = self._streams if purpose is None else self._streams.child(purpose, **axes)
        return twin

    @property
    def spent(self):
        return self._spending.guarantee(self._everybody, REAL_BITS * int((~self._everybody).sum(axis=1).max()))

    def note(self, text):
        self._spending.notes.append(text)


class ReportByReport(SimulatedUsers):
    """Simulated users whose sums are added up report by report instead of drawn by their law."""

    def sums(self, device, question, by=None):
        return device.estimate(device.addends(self.ask(device, question), question).sum(axis=0), question, self.n)
