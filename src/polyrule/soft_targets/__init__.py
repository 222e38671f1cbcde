"""Soft targets: probabilities of training labels by models that did not see the label of the example.

`model` stacks a `forest` with ridge regressions (`regression`: with a kernel and, for text, a linear one). Both rule
lists and rule ensembles learn from its probabilities beside the labels (knowledge distillation: Buciluă, Caruana and
Niculescu-Mizil 2006; Hinton, Vinyals and Dean 2015).
"""
