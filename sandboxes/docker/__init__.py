"""The docker backend: containers by the docker SDK, images by the `docker build` command."""

from sandboxes.docker.backend import DockerBackend

__all__ = ["DockerBackend"]
