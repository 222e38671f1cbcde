"""Large models that say of each training example how likely its labels are without that example.

A `design` makes a matrix of the features; a `forest`, a kernel regression (`kernel_ridge`) and, for text, a `linear`
one look at it; `blending` joins what they say; `teacher` does it all. Lists and ensembles learn from it and throw it
away.
"""
