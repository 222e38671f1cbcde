"""The whole learner once more, as the definition reads: no shared code, no tricks, small data only."""
