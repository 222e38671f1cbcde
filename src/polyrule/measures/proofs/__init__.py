"""Proofs by machine that a measure is decomposable or anti-monotone, for heads and worlds of any size."""

from polyrule.measures.proofs.prove import Proof, Settled, exchange, known_proof, recheck, settle

__all__ = ["Proof", "Settled", "exchange", "known_proof", "recheck", "settle"]
