"""The engine that decides from integer counts, and the threads, workers and blocks that count."""
