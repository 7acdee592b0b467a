"""Several runs made into one, and what of them is to be judged."""
