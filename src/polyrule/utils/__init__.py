"""Arrays, names, files, limits and backends that every room uses."""
