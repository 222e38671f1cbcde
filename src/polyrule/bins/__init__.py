"""Features cut into ordered bins: what ensembles search in and what teachers look at."""
