import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.seeds import Streams, stable_hash

values = st.one_of(st.integers(), st.text(), st.booleans(), st.none(), st.floats(allow_nan=False))


@given(st.dictionaries(st.text(min_size=1), values), st.dictionaries(st.text(min_size=1), values))
def test_hash_separates_axes(a, b):
    same = {k: (type(v), v) for k, v in a.items()} == {k: (type(v), v) for k, v in b.items()}
    assert (stable_hash(**a) == stable_hash(**b)) == same or repr(a) != repr(b)


def test_lengths_are_prefixed():
    assert stable_hash(a="bc") != stable_hash(ab="c")
    assert stable_hash(a=("1", "2")) != stable_hash(a=("12",))
    assert stable_hash(a=1) != stable_hash(a="1") != stable_hash(a=1.0)


def test_known_value_never_changes():
    assert stable_hash(dataset="abalone", replication=3) == 2307682095683739874886107873371300692


def test_same_bits_in_another_process():
    code = "from lpbench.seeds import Streams; print(Streams(5).generator('label', r=1).random())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert float(out) == Streams(5).generator("label", r=1).random()


def test_children_differ_from_parents_and_each_other():
    s = Streams(0)
    draws = {t.generator("x").random() for t in (s, s.child("a"), s.child("b"), s.child("a").child("a"))}
    assert len(draws) == 4


@pytest.mark.parametrize("bad", [-1, 1.5, "a", True])
def test_bad_seed(bad):
    with pytest.raises(ValueError, match="seed="):
        Streams(bad)


def test_random_state_forms():
    assert Streams.from_random_state(3) == Streams(3)
    assert Streams.from_random_state(Streams(3)) == Streams(3)
    a, b = (Streams.from_random_state(np.random.default_rng(1)) for _ in range(2))
    assert a == b
    assert Streams.from_random_state(None) != Streams.from_random_state(None)
