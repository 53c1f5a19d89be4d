"""The service: an HTTP API and web pages over the trials of one store."""

from bestarm.service.app import create_app

__all__ = ["create_app"]
