"""The history of the tables, oldest first; a store brings itself up to date when it is opened."""
