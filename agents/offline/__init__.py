"""The offline author: a real author without a model. Start reading at `author`."""
