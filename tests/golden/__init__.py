"""Hashes of the rule lists and default models of the benchmark data sets, so that a change of any is seen.

``make golden`` checks all of them; ``python -m tests.golden --write`` adds what is missing. Change a hash only when the
definition of the lists has changed, and say in the commit why.
"""
