"""Random worlds without end: the compiled engine against the reference, and on the smallest against the twin.

``make campaign MINUTES=10 SEED=0`` runs it; `worlds` draws, `comparing` compares, `shrinking` and `programs` make a
mismatch small and write it down as a program that shows it alone.
"""
