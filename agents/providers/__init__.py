"""Models behind one method, `reply`: one file for each API, the fake beside them."""
