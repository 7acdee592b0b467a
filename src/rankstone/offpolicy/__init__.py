"""What was shown and answered, and what that says of another policy."""
