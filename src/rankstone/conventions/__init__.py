"""Which definition: every choice by name, the presets of other tools, and the plan that follows from them."""
