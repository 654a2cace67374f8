"""Honest methods of unusual build, written as plug-ins from the documented interface: nobody may accuse them."""

from tests.audit import fresh_leaks

_HEAD = f"""{fresh_leaks.HEAD}
from sklearn.ensemble import RandomForestRegressor

{fresh_leaks.BINS}
class AboveDevice(Device[Question]):
    def mechanism(self, question):
        return RandomizedResponse(question.epsilon)
    def inputs(self, records, question):
        return records.y > question.y_range[0]

class NoisyDevice(LabelDevice):
    def mechanism(self, question):
        low, high = question.y_range
        return Gaussian.for_budget(question.epsilon, 1e-6, sensitivity=max(high - low, 1e-12))

ABOVE, NOISY = AboveDevice(), NoisyDevice()

{fresh_leaks.VOTES}"""
_REGRESSOR = """@dataclass(eq=False, repr=False)
class Fresh(LocalRegressor):
    epsilon: float = 1.0
    protects = "label"
    def predict(self, X):
        return self._finish(np.full(len(self._check_predict(X)), self.mean_))
    def shuffled(self, users, parts):
        return np.array_split(np.random.default_rng(5).permutation(users.n), parts)
    def learn(self, users):
        low, high = self.y_range_
"""
_CLASSIFIER = """@dataclass(eq=False, repr=False)
class Fresh(LocalClassifier):
    epsilon: float = 1.0
    domain: Any = field(default=(0.0, 1.0), kw_only=True)
    protects = "label"
    def predict(self, X):
        return np.full(len(self._check_predict(X)), self.classes_[self.best_])
    def learn(self, users):
"""

#: What is unusual stands above each body of ``learn``.
_BODIES = {
    # groups of users in an order of their own, of unequal sizes, each asked once at the whole budget
    "shuffled_groups": """        means = [
            users.ask(LABEL, Question((low, high), self.epsilon), group).mean() for group in self.shuffled(users, 7)
        ]
        self.mean_ = float(np.clip(np.mean(means), low, high))
""",
    # forty rounds, each centered on the answers before, with fresh users in each
    "forty_rounds": """        for group in self.shuffled(users, 40):
            cut = (low + high) / 2
            question = Question((cut, high), self.epsilon)
            answers = users.take(group).ask(ABOVE, question)
            share = ABOVE.mechanism(question).estimate(answers.sum(), group.size) / group.size
            low, high = ((3 * low + cut) / 4, high) if share > 0.5 else (low, (3 * high + cut) / 4)
        self.mean_ = (low + high) / 2
""",
    # Gaussian noise, whose delta is charged
    "gaussian": """        reports = users.ask(NOISY, Question((low, high), self.epsilon))
        self.mean_ = float(np.clip(reports.mean(), low, high))
""",
    # two candidates learn from a third each; the last third chooses
    "private_selection": """        first, second, judges = self.shuffled(users, 3)
        candidates = [users.ask(LABEL, Question((low, high), self.epsilon), some).mean() for some in (first, second)]
        middle = float(np.clip(np.mean(candidates), low, high))
        question = Question((middle, high), self.epsilon)
        votes = users.ask(ABOVE, question, judges)
        share = ABOVE.mechanism(question).estimate(votes.sum(), judges.size) / judges.size
        self.mean_ = float(np.clip(max(candidates) if share > 0.5 else min(candidates), low, high))
""",
    # every user is in two of three overlapping subsets, and spends half in each
    "overlapping_subsets": """        parts, means = self.shuffled(users, 3), []
        for left_out in range(3):
            who = np.concatenate([part for number, part in enumerate(parts) if number != left_out])
            means.append(users.ask(LABEL, Question((low, high), self.epsilon / 2), who).mean())
        self.mean_ = float(np.clip(np.mean(means), low, high))
""",
    # the same question, built anew, is asked again after a failure: the same reports, and nothing more is spent
    "retry": """        first = users.ask(LABEL, Question((low, high), self.epsilon))
        again = users.ask(LABEL, Question((float(low), float(high)), float(self.epsilon)))
        if not np.array_equal(first, again):
            raise RuntimeError("a retry got other reports")
        self.mean_ = float(np.clip(again.mean(), low, high))
""",
    # the reports are kept, and a learner of another library is fitted to them and asked at prediction
    "forest_on_kept_reports": """        self.reports_ = users.ask(LABEL, Question((low, high), self.epsilon))
        forest = RandomForestRegressor(5, max_depth=3, random_state=0)
        self.forest_ = forest.fit(users.public_features, self.reports_)
        self.mean_ = float(np.clip(self.reports_.mean(), low, high))
    def predict(self, X):
        return self._finish(self.forest_.predict(self._check_predict(X)))
""",
    # randomized response over as many classes as there are, from two to fifty
    "many_classes": """        reports = users.ask(CLASS, Question((0.0, self.classes_.size), self.epsilon))
        self.best_ = int(np.bincount(reports, minlength=self.classes_.size).argmax())
""",
}


def _source(body: str) -> str:
    learn, method, rest = body.partition("    def ")
    head = _HEAD + (_CLASSIFIER if "CLASS" in body else _REGRESSOR)
    return f"{head}{learn}        return self\n{method}{rest}"


#: Name -> module whose estimator is ``Fresh``.
UNUSUAL = {name: _source(body) for name, body in _BODIES.items()}
