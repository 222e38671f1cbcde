"""Proofs by machine that a measure is decomposable or anti-monotone, for heads and problems of any size."""

from polyrule.measures.proofs.prove import Proof, ProofResult, exchange, known_proof, prove_measure, recheck

__all__ = ["Proof", "ProofResult", "exchange", "known_proof", "prove_measure", "recheck"]
