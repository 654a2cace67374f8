"""Wrong implementations of the papers' methods, and other alternatives to their printed numbers.

A mutant is a patch of a registered method and no method itself: the selector ``name[mutant=patch]`` takes the class of
the same name from the module ``patch`` of this package. The experiments ``mutants/*`` run them at the papers'
replications, on the same streams as the methods, and nothing but the table of alternatives reads their scores.
"""

from lpbench.reporting.paper import Paper

PAPER = Paper(name="mutants", title="Wrong implementations", order=300)
