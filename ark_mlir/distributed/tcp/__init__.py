"""Connections over TCP, for ranks on several hosts or in several network namespaces."""
