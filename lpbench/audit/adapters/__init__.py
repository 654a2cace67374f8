"""Local randomizers of other libraries, audited by sampling: diffprivlib, OpenDP, pure-ldp and multi-freq-ldpy.

Each entry of :data:`RANDOMIZERS` calls the library as its documentation says and turns a report into numbers. Reports
that name a hash function (local hashing, sketches, RAPPOR) become what the report says about each of the two values
compared, by the public hash: a function of the report alone, so that a lower bound on its loss bounds the report's.
"""

# importing the modules of the libraries registers their randomizers
from lpbench.audit.adapters import for_diffprivlib, for_multi_freq_ldpy, for_opendp, for_pure_ldp  # noqa: F401
from lpbench.audit.adapters.page import NOT_ADAPTED, page
from lpbench.audit.adapters.registry import RANDOMIZERS
from lpbench.audit.adapters.table import EPSILONS, LibraryRow, audit_library, write_csv

#: Distributions.
LIBRARIES = ("diffprivlib", "opendp", "pure-ldp", "multi-freq-ldpy")

__all__ = ["EPSILONS", "LIBRARIES", "NOT_ADAPTED", "RANDOMIZERS", "LibraryRow", "audit_library", "page", "write_csv"]
