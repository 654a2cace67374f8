"""PSGD: locally private stochastic gradient descent, of a linear model or a network with one hidden layer."""
