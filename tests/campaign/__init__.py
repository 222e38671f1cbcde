"""Random worlds without end: the compiled engine against the reference, and on one in six against the slow twin.

``make campaign MINUTES=10 SEED=0`` runs it, and goes on with that seed where it ended; `worlds` draws, `comparing`
compares each rule of the reference with those of several sets of limits, `tally` keeps count, `shrinking` and
`programs` make a mismatch small and write it down as a program that shows it alone.
"""
