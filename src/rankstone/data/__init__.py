"""What people have, brought into one form: a `Source`."""
