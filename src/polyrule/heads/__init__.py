"""Given a body, the best head: the exact searches and the choice among them."""
