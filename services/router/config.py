"""What may be set for the router."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headway.settings import address, path, setting, whole, words


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterConfig:
    """Settings of the router; ``shared`` ones (deadlines, logs, drain) are those of every service."""

    listen: str = setting("HEADWAY_ROUTER_LISTEN", address, "127.0.0.1:50052", "address the router listens on")
    domain: Path = setting("HEADWAY_DOMAIN", path, "domains/travel", "folder of the domain")
    models: Path = setting("HEADWAY_MODELS", path, "models", "folder of the embedding models")
    encoder: str = setting(
        "HEADWAY_ENCODER",
        words,
        "use-multilingual",
        "embedding model: use-multilingual, minilm-l6-v2 (English only) or the path of an .onnx file",
    )
    workers: int = setting("HEADWAY_ENCODER_WORKERS", whole(1, 64), "2", "encoder runs at once, one thread each")
    batch: int = setting("HEADWAY_ENCODER_BATCH", whole(1, 64), "8", "most waiting texts that share one encoder run")
    waiting: int = setting("HEADWAY_ENCODER_WAITING", whole(1, 100_000), "512", "most texts that wait for the encoder")
