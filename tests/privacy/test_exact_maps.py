"""Stated epsilon against the exact one, in integers: every whole number that a draw can be is counted.

A mechanism compares words, whole numbers below 2^62, with thresholds. The tests count the words on either side in the
code itself, by bisection, and compare the ratio of the counts, a fraction, with e^epsilon from below: no double enters.
The mechanisms of :data:`NOT_COUNTED` are drawn by doubles; SECURITY.md says what holds for them.
"""

import inspect
import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy.stats import binom

from lpbench import privacy
from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators.histoftree.cell_reports import reports_truth
from lpbench.estimators.tuning_free.level_reports import LevelReport
from lpbench.paths import ROOT
from lpbench.privacy.exact import BITS, UNITS, below, draw_below, kept_units, words
from lpbench.privacy.randomized_response import grr_reports
from lpbench.privacy.rounded import grid_step

#: Mechanisms whose stated loss is that of real arithmetic.
NOT_COUNTED = {"PrivUnitG", "SignedPrivUnitG"}
COUNTED = {"RandomizedResponse", "BitVector", "GRR", "PriorResponse", "SubsetSelection", "HadamardResponse", "Channel",
           "NumberChannel", "Piecewise", "Hybrid", "DiscreteLaplace", "Laplace", "Gaussian", "Staircase",
           "Exponential"}  # fmt: skip
EPSILONS = [1e-9, 1e-3, 0.1, 1.0, 5.0, 20.0, 50.0, 700.0]
SIZES = [2, 3, 16, 1000, 2**31 - 1, 2**31 + 1, 2**50, 2**53 - 1, 2**60 - 1, 2**60]


def grown(epsilon) -> Fraction:
    """e^epsilon from below, to fifty digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp()) * (1 - Fraction(1, 10**50))


def assert_loss(ratio: Fraction, epsilon: float, sharp: bool = True) -> None:
    """Never above the budget; near it while words are fine enough."""
    assert ratio <= grown(epsilon)
    if sharp:
        assert ratio - 1 >= (grown(epsilon * (1 - 1e-6)) - 1)


def count(tells) -> int:
    """Of the 2^62 words, how many are below the threshold of the code: by bisection."""
    low, high = 0, UNITS
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if tells(np.array([middle])) else (low, middle)
    return low


class Planted:
    """In the place of a Generator: whole numbers that a test chooses, one call after the other, and no uniforms."""

    def __init__(self, *drawn):
        self.drawn = list(drawn)

    def integers(self, bound, size=None, dtype=np.int64, endpoint=False):
        """The numbers chosen for this call, brought to its size; words are drawn as 64 bits, of which 62 count."""
        chosen = self.drawn.pop(0)
        shifted = [int(number) << 2 if bound == 2**64 - 1 else int(number) for number in np.ravel(chosen)]
        assert all(0 <= number < bound + endpoint for number in shifted)
        return np.resize(np.array(shifted, dtype=dtype), size)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_bit(epsilon):
    kept = count(lambda word: privacy.rr_reports(np.array([True]), epsilon, word)[0])
    assert kept == privacy.RandomizedResponse(epsilon).kept == kept_units(epsilon)
    assert_loss(Fraction(kept, UNITS - kept), epsilon, sharp=epsilon <= 20)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_bits_of_a_vector_from_their_first_16_bits_and_the_rest(epsilon):
    mechanism = privacy.RandomizedResponse(epsilon)
    first, rest = divmod(mechanism.kept, 2**46)
    every = np.arange(2**16)
    for low, kept_at_tie in ((max(rest - 1, 0), rest > 0), (rest, False)):
        reports = mechanism.randomize(np.ones(2**16, dtype=int), Planted(every, [low]))
        assert np.array_equal(reports, (every < first) | ((every == first) & kept_at_tie))
    one_hot = privacy.BitVector(2 * epsilon, 4).randomize(
        np.array([2]), Planted([0, 2**16 - 1, 0, 2**16 - 1], [2**46 - 1])
    )
    assert one_hot.tolist() == [[False, True, True, True]], "kept, flipped, kept, flipped"


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_hot_vectors_change_two_bits(epsilon):
    kept = privacy.BitVector(epsilon, 5).response.kept
    assert_loss(Fraction(kept, UNITS - kept) ** 2, epsilon, sharp=epsilon <= 20)


@pytest.mark.parametrize("m", SIZES)
def test_words_below_a_number_are_even(m):
    """Each number has the words of floor(word m / 2^62), or of word mod m for large m: 2^62 / m, rounded."""
    ends = [end + k for j in (0, 1, 2, m // 2, m - 1) for end in [-(-j * UNITS // m)] for k in (-1, 0, 1)]
    drawn = np.array([end for end in ends if 0 <= end < UNITS] + [UNITS - 1])
    expected = [word % m if m > 2**31 else word * m >> BITS for word in drawn.tolist()]
    assert below(drawn, m).tolist() == expected


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_categories(epsilon, m):
    nothing = np.array([UNITS - 1 if m <= 2**31 else 1])  # a word that leads to another category
    told = count(lambda word: grr_reports(np.array([0]), m, epsilon, word, nothing)[0] == 0)
    least, rest = UNITS // m, UNITS - told  # words of the other draw that lead to a category
    assert_loss(1 + Fraction(told * UNITS, rest * least), epsilon, sharp=epsilon <= 20 and m <= 1000)
    if m <= 1000:
        table = privacy.GRR(epsilon, m).log_channel()
        assert table[0, 0] - table[0, 1] == pytest.approx(math.log(1 + Fraction(told * m, rest)), abs=1e-9)


@pytest.mark.parametrize("k", [2, 3, 64])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_listed_classes(epsilon, k):
    """Three laws: of the class itself, of another one that is listed, and of one that is not."""
    order, size = np.arange(k + 1)[None], np.array([k])

    def shown(truth, word, other):
        return privacy.prior_reports(np.array([truth]), order, size, epsilon, Planted(word, other))[0]

    told = count(lambda word: shown(0, word, [UNITS - 1]) == 0)
    assert shown(k, [0], [0]) == 0 and shown(k, [0], [UNITS - 1]) == k - 1, "who is not listed tells nothing"
    rest, least = UNITS - told, UNITS // k
    assert_loss(1 + Fraction(told * UNITS, rest * least), epsilon, sharp=epsilon <= 20)
    assert Fraction(UNITS, rest) <= grown(epsilon)
    law = np.exp(privacy.PriorResponse(epsilon, k + 1, tuple(range(k))).log_channel())
    assert law[0, 0] == pytest.approx(told / UNITS + rest / UNITS / k) and law[k, 0] == pytest.approx(1 / k)


@pytest.mark.parametrize(("m", "size"), [(6, 2), (40, 13), (5000, 1300), (20_000, 2)])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_subsets(epsilon, m, size):
    """With the truth told, all subsets that hold it are equally probable, and all subsets otherwise (next test)."""
    keys = np.arange(m)[::-1]  # category 0 has the largest key

    def holds(word):
        return privacy.subset_reports(np.array([0]), m, size, epsilon, word, Planted(keys))[0, 0] == 0

    told = count(holds)
    ratio = 1 + Fraction(told, UNITS - told) * Fraction(math.comb(m, size), math.comb(m - 1, size - 1))
    assert_loss(ratio, epsilon, sharp=epsilon <= 20 and m <= 5000)


@pytest.mark.parametrize("told", [True, False])
def test_members_are_even_whatever_ties(told):
    """All 4^4 keys from {0, 1, 2, 3}, as likely as one another: the pairs that need no second draw are even."""
    tables = np.array(list(itertools.product(range(4), repeat=4)))
    again = np.tile([8, 9, 1, 2], (len(tables), 1))  # of users whose keys are tied; category 3 is the truth
    word = np.full(len(tables), 0 if told else UNITS - 1)
    members = privacy.subset_reports(np.full(len(tables), 3), 4, 2, 1.0, word, Planted(tables, again))
    others, more = (np.sort(tables[:, :3]), 1) if told else (np.sort(tables), 2)  # members to choose
    untied = others[:, more - 1] < others[:, more]
    assert (members[~untied] == [2, 3]).all()
    counts = np.unique(members[untied], axis=0, return_counts=True)[1]
    assert counts.size == (3 if told else 6) and np.ptp(counts) == 0


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_tables_and_points_state_the_ratio_of_their_whole_numbers(epsilon):
    """Channel, NumberChannel, Piecewise, Hybrid and the report of a level: units of probability are counted."""
    channel = privacy.Channel(LevelReport(epsilon, 4, 3).response.channel())
    numbers = privacy.rr_on_bins(epsilon, np.ones(9))
    tables = [(channel.epsilon, channel._units), (numbers.epsilon, numbers._units)]
    if epsilon >= 1e-3:
        best = privacy.optimal_unbiased(epsilon, np.ones(5), n_outputs=11)
        tables.append((best.epsilon, best._units))
        assert best.epsilon <= epsilon
    points, hybrid = privacy.Piecewise(epsilon), privacy.Hybrid(epsilon)
    for mechanism in (points, hybrid):
        tables.append((mechanism.epsilon, np.array([mechanism.weights, mechanism.weights[::-1]])))
        assert mechanism.epsilon <= epsilon * (1 + 1e-15)
    for stated, units in tables:
        assert (units.sum(axis=1) <= UNITS).all()
        for column in units.T[units.T.any(axis=1)].tolist():
            assert Fraction(max(column), min(column)) <= grown(stated)
    assert_loss(Fraction(*points.weights), epsilon, sharp=1e-3 <= epsilon <= 20)


@pytest.mark.parametrize(
    ("leaves", "bins", "hidden"),
    [(2, 1, 0), (12, 1, 0), (3, 2, 1), (5, 3, 4), (64, 2, 54), (1, 30, 12), (1, 2**31, 2), (2**20, 2, 980)],
)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_cells_of_grid_and_tree(epsilon, leaves, bins, hidden):
    """A cell that is not the truth is a leaf and a bin of each hidden feature, each from a word of its own."""
    choices = np.array([float(leaves) * float(bins) ** hidden])
    told = count(lambda word: reports_truth(choices, epsilon, word)[0])
    cell = Fraction(UNITS // leaves, UNITS) * Fraction(UNITS // bins, UNITS) ** hidden
    assert_loss(1 + Fraction(told, UNITS - told) / cell, epsilon, sharp=epsilon <= 20 and choices[0] < 1000)


class Bits:
    """In the place of a Generator: a number of so many bits that a test chooses, 64 at a time."""

    def __init__(self, *numbers, bits):
        self.numbers, self.bits = numbers, bits

    def integers(self, bound, size, dtype, endpoint):
        """The next 64 bits of each number."""
        assert bound == 2**64 - 1 and endpoint and np.prod(size) == len(self.numbers)
        self.bits -= 64
        assert self.bits >= 0, "these bits do not decide"
        return np.array([number >> self.bits & (2**64 - 1) for number in self.numbers], dtype=dtype).reshape(size)


def staircase_cdf(mechanism):
    """Integral of the density of Geng and Viswanath, from minus infinity."""
    budget, gamma = mpf(mechanism.budget), mpf(mechanism.high_share)
    b = mpmath.exp(-budget)
    top = (1 - b) / (2 * (gamma + b * (1 - gamma)))

    def cdf(x):
        step, place = divmod(abs(x), 1)
        inner = top * b**step * (min(place, gamma) + b * max(place - gamma, 0)) + (1 - b**step) / 2
        return mpf(1) / 2 + (inner if x >= 0 else -inner)

    return cdf


def laplace_cdf(mechanism):
    def cdf(x):
        return 1 - mpmath.exp(-x / mechanism.scale) / 2 if x >= 0 else mpmath.exp(x / mechanism.scale) / 2

    return cdf


def grid_cdf(mechanism):
    """Of a whole number k of steps with P(k) proportional to q^|k|, at the middle between two."""
    q = mpmath.exp(-mpf(mechanism.step) / mechanism.scale)

    def cdf(x):
        k = int(mpmath.nint(x / mechanism.step - 0.5))
        return 1 - q ** (k + 1) / (1 + q) if k >= 0 else q**-k / (1 + q)

    return cdf


REAL = {"laplace": (privacy.Laplace.for_budget, laplace_cdf),
        "staircase": (privacy.Staircase.for_budget, staircase_cdf),
        "gaussian": (lambda epsilon: privacy.Gaussian.for_budget(epsilon, 1e-5),
                     lambda mechanism: lambda x: mpmath.ncdf(x / mpf(mechanism.sigma))),
        "fine grid": (lambda epsilon: privacy.DiscreteLaplace.for_budget(epsilon, 2.0**-10), grid_cdf),
        "whole numbers": (lambda epsilon: privacy.DiscreteLaplace.for_budget(epsilon, 1.0), grid_cdf)}  # fmt: skip


def reported_below(mechanism, cdf, value, index, step, bits):
    """Of the numbers of so many bits, how many are reported below a point of the grid: reports grow with them."""
    boundary = (mpf(index) - 0.5) * step - value
    count = int(mpmath.floor(mpmath.ldexp(cdf(boundary), bits)))
    assert 1 < count < 2**bits - 2

    def report(number):
        return mechanism.randomize(np.array([value]), Bits(number, bits=bits))[0]

    assert report(count - 1) < index * step <= report(count + 1)
    return count


def counted(name, mechanism, points, bits):
    """For each point, of the values 0 and 1: how many numbers are reported below it, and how many as it."""
    with mpmath.workprec(bits + 200):
        cdf, (scale, law) = REAL[name][1](mechanism), mechanism.noise
        step = getattr(mechanism, "step", None) or grid_step(scale, mechanism.sensitivity, law)
        for point in points:
            ends = [
                [reported_below(mechanism, cdf, value, round(point / step) + k, step, bits) for k in (0, 1)]
                for value in (0.0, 1.0)
            ]
            yield [(low, high - low) for low, high in ends]


@pytest.mark.parametrize("name", ["laplace", "staircase", "fine grid", "whole numbers"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_noise_of_real_numbers_is_counted_to_the_last_bit(epsilon, name):
    """Points have the mass of real noise, which loses what is stated: beyond both values, or a step down."""
    mechanism, bits, width = REAL[name][0](epsilon), 64 * (6 + int(epsilon / 20)), 1.0 / epsilon
    far = {"laplace": [-5.0 * width, 1.0 + 3.0 * width], "staircase": [-0.25 / max(epsilon, 1.0), 1.0]}
    points = [*far.get(name, [0.0, 1.0]), 0.5, 0.5 + 0.3 * width]
    sharp = epsilon < 700 or name in ("laplace", "fine grid")
    if not sharp:  # the first step is far shorter than the grid, and the next numbers are too rare for doubles
        points = [0.5, 0.5 + 0.3 * width] if name == "staircase" else []
    cells = [(zero, one) for (_, zero), (_, one) in counted(name, mechanism, points, bits)]
    losses = [Fraction(max(cell), min(cell)) for cell in cells]
    assert (
        max(losses, default=1) <= grown(mechanism.epsilon) * (1 + Fraction(1, 2**80)) and mechanism.epsilon <= epsilon
    )
    assert not sharp or max(losses) >= grown(epsilon) * (1 - Fraction(epsilon) / 10**6)


@pytest.mark.parametrize("epsilon", [*EPSILONS[:-1], pytest.param(700.0, marks=pytest.mark.slow)])
def test_gaussian_noise_is_counted_to_the_last_bit(epsilon):
    """delta is the mass of the likeliest reports less e^epsilon times that of another value; their ratio grows."""
    mechanism = REAL["gaussian"][0](epsilon)
    best, bits = epsilon * mechanism.sigma**2 + 0.5, 64 * (7 + int(epsilon / 50))
    wrong = []
    for (zero, _), (one, _) in counted("gaussian", mechanism, [best - 0.1, best, best + 0.1 * mechanism.sigma], bits):
        above = [1 - Fraction(below_, 2**bits) for below_ in (zero, one)]
        wrong.append(above[1] - grown(epsilon) * above[0])
    assert max(wrong) <= Fraction(mechanism.delta) <= max(wrong) * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_candidates_are_those_of_real_gumbel_variables(epsilon):
    """-log(-log(1 - u)) and a tilt exceed another one below a number that is known to the last bit."""
    mechanism, bits = privacy.Exponential.for_budget(epsilon), 64 * (6 + int(epsilon / 20))
    for score in (0, 1, 2):
        for first in (3, 2**bits // 3, 2**bits - 2 ** (bits // 2)):
            with mpmath.workprec(2 * bits + 200):
                odds = mpmath.exp(-mpf(mechanism.coefficient) * score)
                ends = [1 - (1 - mpmath.ldexp(number, -bits)) ** odds for number in (first, first + 1)]
                least, most = (int(mpmath.floor(mpmath.ldexp(end, bits))) for end in ends)

            def choice(second, score=score, first=first):
                return mechanism.randomize(np.array([[score, 0.0]]), Bits(first, second, bits=bits))[0]

            assert least < 2 or choice(least - 2) == 1
            assert choice(most + 2) == 0
    assert mechanism.epsilon <= epsilon and Fraction(mechanism.coefficient) * 2 <= Fraction(mechanism.epsilon)


def test_grids_that_blur_are_refused():
    for make in (
        lambda: privacy.DiscreteLaplace.for_budget(1e-13, 2.0**-10),
        lambda: privacy.DiscreteLaplace(1e15, 1.0)._law,
    ):
        with pytest.raises(ConfigurationError, match="larger budget or a longer step"):
            make()


def test_without_a_budget_or_without_others_the_truth_is_told():
    last = np.array([UNITS - 1])
    assert privacy.rr_reports(np.array([True]), math.inf, last)[0]
    assert grr_reports(np.array([2]), 4, math.inf, last, last)[0] == 2
    assert grr_reports(np.array([0]), 1, 1.0, last, last)[0] == 0
    assert 3 in privacy.subset_reports(np.array([3]), 6, 2, math.inf, last, np.random.default_rng(0))[0]
    assert privacy.RandomizedResponse(math.inf).randomize(np.array([1, 0]), Planted([2**16 - 1])).tolist() == [
        True,
        False,
    ]


def test_uniforms_in_the_place_of_words_are_refused():
    """All of them are below every threshold: the truth would always be told."""
    half = np.array([0.5])
    for report in (
        lambda: privacy.rr_reports(np.array([True]), 1.0, half),
        lambda: grr_reports(np.array([0]), 3, 1.0, half, half),
        lambda: privacy.subset_reports(np.array([0]), 5, 2, 1.0, half, np.random.default_rng(0)),
        lambda: reports_truth(np.array([5.0]), 1.0, half),
    ):
        with pytest.raises(DataError, match="whole numbers below"):
            report()


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 30.0])
def test_the_law_of_sums_is_that_of_the_words(epsilon):
    """Laws of a count among five users, from the probabilities that the shortcuts use and from the counted words."""
    bit = privacy.RandomizedResponse(epsilon)
    np.testing.assert_allclose([bit.keep, bit.flip], [bit.kept / UNITS, (UNITS - bit.kept) / UNITS], rtol=1e-5)
    exact = np.convolve(binom.pmf(range(4), 3, bit.kept / UNITS), binom.pmf(range(3), 2, 1 - bit.kept / UNITS))
    used = np.convolve(binom.pmf(range(4), 3, bit.keep), binom.pmf(range(3), 2, bit.flip))
    np.testing.assert_allclose(used, exact, atol=1e-11)
    channel = privacy.GRR(epsilon, 3).channel()
    told = grr_reports(np.zeros(1, int), 3, epsilon, np.array([0]), np.array([UNITS - 1]))
    grown_ = math.exp(epsilon)
    assert told[0] == 0
    np.testing.assert_allclose(channel[0], [grown_ / (grown_ + 2), 1 / (grown_ + 2), 1 / (grown_ + 2)], rtol=1e-4)


def test_words_are_62_bits_of_every_64():
    assert words(Planted([0, 5, UNITS - 1]), 3).tolist() == [0, 5, UNITS - 1]
    assert draw_below(UNITS, (3,), Planted([0, 1, 2**16 - 1])).all()
    assert not draw_below(0, (3,), Planted([0, 1, 2**16 - 1])).any()


def test_every_mechanism_is_counted_here_or_said_not_to_be():
    kinds = {name for name in privacy.__all__ if isinstance(kind := getattr(privacy, name), type)
             and issubclass(kind, privacy.Mechanism) and not inspect.isabstract(kind)}  # fmt: skip
    assert kinds == COUNTED | NOT_COUNTED and not COUNTED & NOT_COUNTED
    said = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in said for name in kinds)
