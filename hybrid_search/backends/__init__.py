"""Stores. The only modules that know an engine: an OpenSearch collection, or one SQLite file."""
