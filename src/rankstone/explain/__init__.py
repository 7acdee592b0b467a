"""How a score is computed, why two scores differ, and which definition produces a reported number."""
