"""Helpers for the tests of ark and of programs that use it; nothing here runs in production."""
