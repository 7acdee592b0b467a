"""What people read: results, definitions, explanations, tables and files."""
