"""Leaks written without knowledge of the audit: each is a complaint, or has nothing to find where the method runs."""

from itertools import islice

import pytest

from lpbench.audit import foreign
from lpbench.audit.keeper import Places
from lpbench.audit.methods import samples
from tests.audit.fresh_leaks import BASES, LEAKS
from tests.audit.unusual import UNUSUAL

#: What one process leaves for another is not there, and no complaint is due: the method learns as its twin, or less.
NOTHING_TO_FIND = {
    "label_written_into_features", "stack_walk", "garbage_collector", "patched_library", "order_by_label",
    "question_of_labels", "mask_overwritten", "taken_again", "raw_labels_at_the_seal", "field_out_of_pickles",
    "forged_name", "price_tells", "bits_tell", "poisoned_memory", "fit_at_hand", "shown_at_import",
}  # fmt: skip
REFUSED_TWINS = {"central"}  # a curator's statistic is one of the package's, whoever is honest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def complaints_of(tmp_path_factory):
    """Complaints about the source of a class ``Fresh``; all of them, or whether there is one."""
    with Places(path=[tmp_path_factory.mktemp("author")], seconds=120.0) as places:

        def complaints(source):
            for copy in places.copies.values():
                (copy / "fresh.py").write_text(source, encoding="utf-8")
            return (str(found) for found in foreign.foreign_complaints(places, "fresh.Fresh", {}))

        yield complaints


@pytest.mark.parametrize("name", BASES)
def test_an_honest_twin_has_no_complaint(name, complaints_of):
    found = list(complaints_of(BASES[name].source))
    assert found == [] or (name in REFUSED_TWINS and all("statistics" in what for what in found))


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_honest_method_of_unusual_build_has_no_complaint(name, complaints_of):
    assert list(complaints_of(UNUSUAL[name])) == []


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_a_complaint_or_finds_nothing(name, complaints_of, monkeypatch):
    if name in NOTHING_TO_FIND:  # in the first sample, as in any other
        monkeypatch.setattr(foreign, "drawn_samples", lambda model: islice(samples(model), 1))
    found = next(complaints_of(LEAKS[name]), "")
    assert bool(found) != (name in NOTHING_TO_FIND), found
