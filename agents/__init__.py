"""Floor 1: who proposes, reviews, builds and judges. Plain Python; imports only `sandboxes`."""
