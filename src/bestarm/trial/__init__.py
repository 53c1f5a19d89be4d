"""Drives one policy over real people: events, ask and tell, ledger, report; durable and resumable."""
