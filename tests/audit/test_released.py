"""The registry of released code: every entry's leak is shown, and its page is current."""

import math

import pytest

from lpbench.audit.learner import leak_test
from lpbench.audit.randomizers import exact_loss
from lpbench.errors import ConfigurationError
from scripts.audits.released import PAGE, RANDOMIZERS, RELEASES, PriorOfReports, page, show_leak


@pytest.mark.parametrize("entry", RELEASES, ids=lambda entry: entry.name)
def test_every_entry_leaks(entry):
    leaks, evidence = show_leak(entry.name)
    assert leaks, evidence


def test_names_are_unique_and_unknown_ones_are_refused():
    assert len({entry.name for entry in RELEASES}) == len(RELEASES)
    with pytest.raises(ConfigurationError, match="must be one of lpct-partition"):
        show_leak("nothing")


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_exact_losses_of_the_rebuilt_errors():
    p, q = 1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(0.5))
    own = p + (1 - p) * q
    assert exact_loss(RANDOMIZERS["unary_keeps_other_bit"](1.0)).epsilon == pytest.approx(
        math.log(own * (1 - q) / (q * (1 - own)))
    )
    assert exact_loss(RANDOMIZERS["rappor_never_clears"](1.0)).epsilon == math.inf
    assert exact_loss(RANDOMIZERS["subset_in_order"](0.5)).epsilon == math.inf


def test_the_valid_counterpart_passes_the_leak_test():
    assert leak_test(PriorOfReports, 1.0, ["scripts.audits.released:noisy_labels"]) is None
