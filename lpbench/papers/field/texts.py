"""What the pages of the field say before their tables."""

AGAINST_WHOM = (
    "Our methods without tuning and the papers' beside rivals that anybody could build: a label under one of the "
    "randomizers of the literature, and a learner of scikit-learn's kind on the features that users show. No rival is "
    "searched; its learner was chosen on development sets. A published method with a parameter to choose is shown at "
    "its best grid point on the test rows (oracle), at one setting fixed without them (tuning-free), and at one that "
    "privatised reports of some of the users chose (private), which is what a user can have.",
    "Data sets of three kinds: development sets, on which choices were made; sets kept for conclusions; and sealed "
    "sets, on which nothing is run before the end. Each comparison begins with advice: what to use, given what is "
    "public, the number of users and the budget. field.csv has, for each kind, budget and method, the rank sum, "
    "the probability to beat the feature-free floor and the best learner without privacy on a random split of a random "
    "set, with bootstrap intervals over sets and splits, and the bits of a user's reports; field_seconds.csv has the "
    "median seconds of a fit.",
    "Here are numbers; classes have a page of their own.",
)
OF_CLASSES = (
    "The comparison of the field for classes: our methods and the papers' beside randomizers of the literature with a "
    "learner. How settings are selected, what the kinds of data sets are, and what the files hold is said on the "
    "field's first page, which has the numbers.",
)
