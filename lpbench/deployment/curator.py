"""RemoteUsers: the curator's side of the wire, from whom a method learns as from simulated users."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from lpbench.deployment.broadcast import Broadcast, campaign_of
from lpbench.deployment.client import ENROLMENT, Knowledge, continuous, shown_fields
from lpbench.deployment.codec import to_json
from lpbench.deployment.collector import Collector, ProtocolError, Round
from lpbench.deployment.wire import open_envelope
from lpbench.estimators.base import LocalEstimator
from lpbench.ledger import accounted
from lpbench.privacy import Device, Guarantee, PublicSample, Records, Users
from lpbench.privacy.device import question_of
from lpbench.privacy.payload import Field, payload_bits
from lpbench.privacy.spending import Spending, numeric_bits
from lpbench.privacy.users import REAL_BITS
from lpbench.seeds import Streams

#: Sends broadcasts to users, by user number, and returns the reports that came back, in any order.
Transport = Callable[[Mapping[int, bytes]], Iterable[bytes]]
Possible = Callable[[np.ndarray, np.ndarray], np.ndarray]
M = TypeVar("M", bound=LocalEstimator)


class MissingReports(ProtocolError):
    """Some users have not answered, and the method cannot do without them; :func:`learn_remotely` starts anew."""

    def __init__(self, users: list[int]) -> None:
        super().__init__(f"{len(users)} users have not answered, such as {users[:3]}; go on without them")
        self.users = users


class _Remote(Users):
    """What all users and some of them have in common: every answer passes :meth:`ask_present`."""

    def ask(self, device: Device[Any], question: Any, who: np.ndarray | None = None) -> np.ndarray:
        here, reports = self.ask_present(device, question, who)
        asked = np.arange(self.n) if who is None else np.asarray(who)
        if here.size < asked.size:
            raise MissingReports(self._names(np.delete(asked, here)))
        return reports

    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        """Ask all users; the estimate is of those who answer."""
        here, reports = self.ask_present(device, question)
        addends = device.addends(reports, question)
        if by is None:
            return device.estimate(addends.sum(axis=0), question, here.size)
        sizes = np.bincount(by[here], minlength=int(by.max()) + 1)
        sums = np.zeros((sizes.size, addends.shape[1]))
        np.add.at(sums, by[here], addends)
        return device.estimate(sums, question, sizes[:, None])

    def take(self, who: np.ndarray, purpose: str | None = None, /, **axes: Any) -> Users:
        """Return some users; real ones draw afresh for every report, whatever their randomness is called."""
        return _SomeRemoteUsers(self, np.asarray(who))

    def _names(self, places: np.ndarray) -> list[int]:
        """Numbers given at enrolment."""
        raise NotImplementedError


class RemoteUsers(_Remote):
    """Users who answer over a wire.

    Parameters
    ----------
    users : iterable of int
        Numbers given at enrolment.
    transport : callable
        See :data:`Transport`. A user who does not answer is missing from that answer alone.
    secret : bytes
        Key of the enrolment tokens.
    y_range, classes, public
        Public knowledge, see :class:`lpbench.privacy.Users`.
    campaign : str
        Name of the campaign, which the devices know.
    shards : int
        Collectors among whom the users are divided.

    Attributes
    ----------
    rejected : Counter
        Reason -> number of refused reports, see :data:`lpbench.deployment.collector.REASONS`.
    """

    def __init__(
        self,
        users: Iterable[int],
        transport: Transport,
        secret: bytes,
        n_features: int,
        *,
        y_range: tuple[float, float] | None = None,
        classes: np.ndarray | None = None,
        public: PublicSample | None = None,
        campaign: str = "campaign",
        shards: int = 1,
    ) -> None:
        self.n_features, self.campaign, self.y_range, self.public = n_features, campaign, y_range, public
        self.classes = None if classes is None else np.asarray(classes)
        self.rejected: Counter[str] = Counter()
        self._knowledge = Knowledge(n_features, None if self.classes is None else tuple(self.classes.tolist()))
        self._transport, self._secret, self._shards = transport, secret, shards
        #: Rounds that a user has answered, and the digest of the last one; answers by what was asked.
        self._last: dict[int, tuple[int, str]] = {}
        self._answers: dict[tuple[int, str], np.ndarray] = {}
        #: All who ever enrolled; what those spent who have left since is not forgotten.
        self._accounts = np.sort(np.fromiter(users, dtype=np.int64))
        self._spending = Spending(self._accounts.size)
        self._enter(self._accounts)

    def _enter(self, numbers: np.ndarray) -> None:
        if numbers.size == 0:
            raise ProtocolError("nobody has enrolled")
        self._numbers, self.n = numbers, numbers.size
        self._shown: tuple[np.ndarray, np.ndarray] | None = None

    def go_on_without(self, users: Iterable[int]) -> None:
        """Leave users out; the others are not asked again what they have answered."""
        self._enter(np.setdiff1d(self._numbers, np.fromiter(users, dtype=np.int64)))

    def _names(self, places: np.ndarray) -> list[int]:
        return [int(user) for user in self._numbers[places]]

    @property
    def mask(self) -> np.ndarray:
        return self._enrolled()[0]

    @property
    def public_features(self) -> np.ndarray:
        mask, X = self._enrolled()
        return np.where(mask, np.nan, X)

    def _enrolled(self) -> tuple[np.ndarray, np.ndarray]:
        """Ask everybody once for what is not protected: mask and features, 0 where protected."""
        if self._shown is None:
            d, everybody = self.n_features, np.arange(self.n)
            here, rows, _ = self._round(everybody, ENROLMENT, lambda place: None, shown_fields(d), self._legal)
            if here.size < self.n:
                raise MissingReports(self._names(np.delete(everybody, here)))
            self._shown = rows[:, :d] > 0, rows[:, d:]
            self._spending.shown_read = True
        return self._shown

    def _legal(self, places: np.ndarray, values: np.ndarray) -> np.ndarray:
        mask, X = values[:, : self.n_features] > 0, values[:, self.n_features :]
        return np.asarray(((X == self._knowledge.clipped(X)) & ((X == 0) | ~mask)).all(axis=1))

    def _public_part(self, places: np.ndarray) -> Records:
        """What is known of users' records, with zeros and the first class in place of the rest."""
        y = np.zeros(places.size, dtype=float if self.classes is None else np.int64)
        if self._shown is None:
            return Records(np.zeros((places.size, self.n_features)), y)
        return Records(self._shown[1][places], y, self._shown[0][places])

    def ask_present(
        self, device: Device[Any], question: Any, who: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        device.check(question)
        asked = np.arange(self.n) if who is None else np.asarray(who)
        fields = device.fields(question)
        if continuous(device, question):
            raise ProtocolError(
                f"{type(device).__name__} is asked for continuous noise, which devices do not send; choose a method or "
                "parameters with discrete reports, such as noise='discrete'"
            )
        # A report from what is public tells the shape and type of all.
        first = question_of(question, np.zeros(1, dtype=np.int64))
        like = device.report(self._public_part(asked[:1]), first, device.draws(Streams(0), 1, first))

        def typed(values: np.ndarray) -> np.ndarray:
            return values.astype(like.dtype).reshape(len(values), *like.shape[1:])

        def possible(places: np.ndarray, values: np.ndarray) -> np.ndarray:
            part = question_of(question, places)
            return device.possible(typed(values), self._public_part(asked[places]), part)

        here, rows, new = self._round(
            asked, type(device).__name__, lambda k: question_of(question, np.array([k])), fields, possible
        )
        if here.size == 0:
            raise ProtocolError(f"nobody has answered {type(device).__name__}")
        # An answer that is there already is free.
        users = asked[new]
        budgets = device.budgets(self._public_part(users), question_of(question, new))
        accounts = np.searchsorted(self._accounts, self._numbers[users])
        self._spending.charge(accounts, budgets, device.delta(question), payload_bits(fields), numeric_bits(first))
        return here, typed(rows)

    def _round(
        self,
        asked: np.ndarray,
        device: str,
        question: Callable[[int], Any],
        fields: tuple[Field, ...],
        possible: Possible,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Broadcast and collect: positions of those who answered, their rows of values, positions of new answers."""
        encoded: dict[int, tuple[Any, str]] = {}
        broadcasts: dict[tuple[int, str, str], bytes] = {}
        keys, contents = [], {}
        for k, user in enumerate(self._names(asked)):
            content = question(k)
            # A question that is the same object for all is encoded once.
            if id(content) not in encoded:
                encoded[id(content)] = content, json.dumps([device, to_json(content)])
            keys.append((user, encoded[id(content)][1]))
            if keys[-1] not in self._answers:
                history = (*self._last.get(user, (0, "")), keys[-1][1])
                if history not in broadcasts:
                    broadcasts[history] = self._broadcast(*history)
                contents[user] = broadcasts[history]
        before = {key for key in keys if key in self._answers}
        if contents:
            self._collect(asked, contents, dict(keys), fields, possible)
        here = np.array([k for k, key in enumerate(keys) if key in self._answers], dtype=np.int64)
        rows = np.array([self._answers[keys[k]] for k in here])
        new = np.array([k for k in here if keys[k] not in before], dtype=np.int64)
        return here, rows.reshape(here.size, sum(field.columns for field in fields)), new

    def _broadcast(self, number: int, after: str, content: str) -> bytes:
        device, question = json.loads(content)
        known = {"n_features": self.n_features, "classes": None if self.classes is None else self.classes.tolist()}
        settings = {"campaign": self.campaign, "round": number + 1, "device": device, "question": question, **known}
        return Broadcast(settings | ({"after": after} if number else {})).encode()

    def _collect(
        self,
        asked: np.ndarray,
        contents: Mapping[int, bytes],
        keys: Mapping[int, str],
        fields: tuple[Field, ...],
        possible: Possible,
    ) -> None:
        """Send broadcasts, and keep what comes back and is legal."""
        numbers = {user: self._last.get(user, (0, ""))[0] + 1 for user in contents}
        campaigns = {user: campaign_of(content) for user, content in contents.items()}
        place_of = {user: place for place, user in enumerate(self._names(asked))}

        def legal(users: np.ndarray, values: np.ndarray) -> np.ndarray:
            return possible(np.array([place_of[int(user)] for user in users], dtype=np.int64), values)

        rules = Round(numbers, campaigns, tuple(fields))
        collectors = [Collector(rules, self._secret, shard, self._shards, legal) for shard in range(self._shards)]
        sent: list[list[bytes]] = [[] for _ in collectors]
        for report in self._transport(contents):
            envelope = open_envelope(report) if isinstance(report, bytes) else None
            sent[0 if envelope is None else envelope.user % self._shards].append(report)
        for collector, reports in zip(collectors, sent, strict=True):
            collector.add(reports)
        for other in collectors[1:]:
            collectors[0].merge(other)
        self.rejected += collectors[0].rejected
        for user, row in zip(*collectors[0].rows(), strict=True):
            number = int(user)
            self._answers[number, keys[number]] = row
            self._last[number] = numbers[number], campaigns[number].hex()

    @property
    def spent(self) -> Guarantee:
        """What the user who spent most has spent on this fit."""
        mask = None if self._shown is None else self._shown[0]
        shown = 0 if mask is None else int((~mask).sum(axis=1).max(initial=0))
        return self._spending.guarantee(mask, REAL_BITS * shown)

    @property
    def enrolled(self) -> list[int]:
        """Numbers of all who ever enrolled."""
        return [int(user) for user in self._accounts]

    @property
    def spent_by_user(self) -> np.ndarray:
        """Epsilon of everybody enrolled."""
        return self._spending.of_users()

    def note(self, text: str) -> None:
        self._spending.notes.append(text)


class _SomeRemoteUsers(_Remote):
    """Some of the users, who spend from the same accounts."""

    def __init__(self, parent: _Remote, who: np.ndarray) -> None:
        self._parent, self._who = parent, who
        self.n, self.n_features = who.size, parent.n_features
        self.y_range, self.classes, self.public = parent.y_range, parent.classes, parent.public

    def _names(self, places: np.ndarray) -> list[int]:
        return self._parent._names(self._who[places])

    @property
    def mask(self) -> np.ndarray:
        return self._parent.mask[self._who]

    @property
    def public_features(self) -> np.ndarray:
        return self._parent.public_features[self._who]

    def ask_present(
        self, device: Device[Any], question: Any, who: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._parent.ask_present(device, question, self._who if who is None else self._who[who])

    @property
    def spent(self) -> Guarantee:
        return self._parent.spent

    def note(self, text: str) -> None:
        self._parent.note(text)


def learn_remotely(model: M, users: RemoteUsers) -> M:
    """Fit a clone of a method to remote users; its guarantee is what they have spent.

    Users who are missing where the method needs everybody are left out and the method starts anew, with the answers
    that are there. It ends with a ProtocolError where the others would have to be asked more than they allow.
    """
    with accounted(model, users):
        while True:
            try:
                return clone(model).learn_from(users)
            except MissingReports as missing:
                users.go_on_without(missing.users)
