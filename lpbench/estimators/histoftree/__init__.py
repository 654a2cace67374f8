"""HistOfTree family: a grid on protected features times a tree on public ones, with a given or a chosen partition."""
