"""Searches and iterations of Gavel's policies, and what makes large programmes small."""
