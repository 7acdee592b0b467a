"""The version of the package; pyproject.toml and the changelog have the same."""

__version__ = "0.1.0"
