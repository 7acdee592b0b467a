"""The page as the handbook has it."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def play() -> Any:
    """docs/play.py."""
    found = spec_from_file_location("play", DOCS / "play.py")
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    sys.modules["play"] = module
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def address(play: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the page is, on disk."""
    path = tmp_path_factory.mktemp("play") / "play.html"
    path.write_text(play.page(), encoding="utf-8")
    return path.as_uri()
