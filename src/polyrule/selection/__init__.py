"""The default rule list: grow bodies, select rules, prune them."""
