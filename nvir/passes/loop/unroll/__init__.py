"""Loop unrolling: decisions carried out."""
