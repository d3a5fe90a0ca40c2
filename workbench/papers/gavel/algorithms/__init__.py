"""Iterations of Gavel's policies over many jobs, and what makes large programmes small."""
