"""Users each of whom holds one record and no other: questions come as bytes, and only numbers of the fields leave."""

import pickle
from copy import copy
from unittest import mock

import numpy as np

from lpbench.audit.mutants import taken
from lpbench.privacy import Device, Records, SimulatedUsers, Users
from lpbench.privacy.device import question_of
from lpbench.privacy.payload import GridPoints, Integers, payload_bits
from lpbench.privacy.spending import Spending, numeric_bits
from lpbench.privacy.users import REAL_BITS, answer_streams, content_hash


class OneOfMany:
    """A generator that hands out one user's part of what is drawn for ``n`` users at once."""

    def __init__(self, generator, n, place):
        self._generator, self._n, self._place = generator, n, place

    def _taken(self, draw, size):
        shape = (size,) if np.ndim(size) == 0 else tuple(size)
        return draw((self._n, *shape[1:]))[[self._place]]

    def random(self, size):
        return self._taken(self._generator.random, size)

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


def check_fits(fields, report):
    """Refuse a report that does not fit the fields, which fix its length in bits."""
    ends = np.cumsum([0, *(field.count for field in fields)])
    assert report.shape == (ends[-1],) and np.isfinite(report).all()
    for field, start, end in zip(fields, ends, ends[1:], strict=False):
        part = report[start:end] / field.step + field.reach if isinstance(field, GridPoints) else report[start:end]
        size = {GridPoints: lambda f: 2 * f.reach + 1, Integers: lambda f: f.size}.get(type(field), lambda f: None)(
            field
        )
        assert size is None or ((part >= 0) & (part < size) & (part == np.floor(part))).all()


class ClientByClient(Users):
    """Users who answer each for herself, with the draws that are theirs in the simulation."""

    def __init__(self, records, root, *, public=None, y_range=None, classes=None, notes=()):
        self._mask = np.ones(records.X.shape, dtype=bool) if records.mask is None else records.mask
        self._clients = [Records(records.X[[i]], records.y[[i]], self._mask[[i]]) for i in range(len(records))]
        self._root, self.public, self.y_range, self.classes = root, public, y_range, classes
        self.n, self.n_features = records.X.shape
        self._everybody, self._numbers, self._spending = self._mask, np.arange(self.n), Spending(self.n)
        self._spending.notes.extend(notes)
        self._questions, self._answered = np.zeros(self.n, dtype=int), {}

    @property
    def mask(self):
        return self._mask

    @property
    def public_features(self):
        self._spending.shown_read = True
        return np.concatenate([client.public_features for client in self._clients])

    def ask(self, device, question, who=None):
        return self._reports("ask", device, question, np.arange(self.n) if who is None else np.asarray(who))

    def _reports(self, verb, device, question, who):
        """Reports of clients who know the question, who is asked, and the greatest number of earlier questions."""
        device.check(question)
        fields, asked = device.fields(question), np.sort(self._numbers[who])
        key = content_hash((verb, type(device).__name__, question, self._numbers[who]))
        number = self._answered.setdefault(key, int(self._questions[asked].max()))
        streams = answer_streams(self._root, verb, number, None if asked.size == len(self._everybody) else asked)
        reports = []
        for k, user in enumerate(who):
            received = pickle.loads(pickle.dumps(question_of(question, np.array([k]))))
            place = np.searchsorted(asked, self._numbers[user])
            own = one_of(device.draws(streams, len(asked), question), len(asked), place)
            report = device.report(self._clients[user], received, own)
            check_fits(fields, np.asarray(report, dtype=float).ravel())
            reports.append(report)
        if number == self._questions[asked].max():
            self._questions[asked] += 1
            self._charge(device, question, who, payload_bits(fields))
        return np.concatenate(reports)

    def _charge(self, device, question, who, bits):
        budgets = [device.budgets(self._clients[u], question_of(question, np.array([k]))) for k, u in enumerate(who)]
        spent = np.ravel(np.concatenate([np.ravel(budget) for budget in budgets]))
        of_one = numeric_bits(question_of(question, np.arange(1)))
        self._spending.charge(self._numbers[who], spent, device.delta(question), bits, of_one)

    def sums(self, device, question, by=None):
        assert by is None
        addends = device.addends(self._reports("sums", device, question, np.arange(self.n)), question)
        return device.estimate(addends.sum(axis=0), question, self.n)

    def _part(self, who):
        twin = copy(self)
        twin._mask, twin._clients = self._mask[who], [self._clients[i] for i in who]
        twin.n, twin._numbers = len(who), self._numbers[who]
        return twin

    @property
    def spent(self):
        return self._spending.guarantee(self._everybody, REAL_BITS * int((~self._everybody).sum(axis=1).max()))

    def note(self, text):
        self._spending.notes.append(text)


class ReportByReport(SimulatedUsers):
    """Simulated users whose sums are added up report by report instead of drawn by their law."""

    def sums(self, device, question, by=None):
        with mock.patch.object(type(device), "draw_sums", Device.draw_sums):
            return super().sums(device, question, by)
