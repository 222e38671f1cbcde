"""Large models that say of each training example how likely its labels are without that example.

In `teacher`, a design makes a matrix of the features; a `forest` and ridge regressions (`ridge`: with a kernel and, for
text, linear) look at it; a blend joins what they say. Lists and ensembles learn from it and throw it away.
"""
