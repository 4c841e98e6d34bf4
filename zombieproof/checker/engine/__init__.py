"""The engine: states, search, lowering and storage of any model. It knows no protocol."""
