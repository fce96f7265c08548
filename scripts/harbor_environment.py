"""Harbor's docker environment, for an engine that no registry answers.

Stock Harbor pulls an image to learn whether the kernel can filter a container's traffic and refuses
`network_mode = "no-network"` where it cannot. Having no network at all needs no filter.
Harbor imports this; nothing of ours does. Limit: the policy holds for a whole trial, not for a phase.
"""

from pathlib import Path
from typing import override

from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.environments.docker import COMPOSE_NO_NETWORK_PATH
from harbor.environments.docker.docker import DockerEnvironment
from harbor.models.task.config import NetworkMode


class OfflineDocker(DockerEnvironment):
    @classmethod
    @override
    def _egress_control_kernel_support(cls) -> bool:
        return False

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return super().capabilities.model_copy(update={"disable_internet": True})

    @property
    @override
    def _docker_compose_paths(self) -> list[Path]:
        paths = [*super()._docker_compose_paths, Path(__file__).with_name("harbor_fast.yaml")]
        if self.network_policy.network_mode == NetworkMode.NO_NETWORK:
            paths.append(COMPOSE_NO_NETWORK_PATH)
        return paths
