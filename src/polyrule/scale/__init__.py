"""Count anywhere, decide once: rules from integer counts that blocks of rows, threads, workers or a GPU add up."""
