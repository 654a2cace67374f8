"""Tables of experiments as text, Markdown and LaTeX."""
