"""Fixtures of the storage tests."""

from tests.storage.places import place, postgres_place, postgres_server, sqlite_place

__all__ = ["place", "postgres_place", "postgres_server", "sqlite_place"]
