"""Pictures: what is drawn, apart from how. A `Plot` shows itself in a notebook, and is saved as SVG, PNG or PDF."""
