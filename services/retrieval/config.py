"""What may be set for retrieval."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headway.settings import address, one_of, path, positive_span, setting, span, whole, words


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalConfig:
    """Where it listens, what it searches, and how it asks the web."""

    listen: str = setting("HEADWAY_RETRIEVAL_LISTEN", address, "127.0.0.1:50053", "address of retrieval")
    domain: Path = setting("HEADWAY_DOMAIN", path, "domains/travel", "folder of the domain")
    models: Path = setting("HEADWAY_MODELS", path, "models", "folder of the embedding models")
    encoder: str = setting(
        "HEADWAY_ENCODER",
        words,
        "use-multilingual",
        "embedding model: use-multilingual, minilm-l6-v2 (English only) or the path of an .onnx file",
    )
    state: Path = setting("HEADWAY_STATE", path, "var", "folder for files that services make, such as the index")
    per_section: int = setting(
        "HEADWAY_RECORDS_PER_SECTION",
        whole(1, 50),
        "8",
        "records for each section when the caller does not say how many",
    )
    web_search: str = setting(
        "HEADWAY_WEB_SEARCH",
        one_of("auto", "tavily", "brave", "none"),
        "auto",
        "who searches the web; auto takes the one that a key or an address is set for",
    )
    web_search_url: str = setting(
        "HEADWAY_WEB_SEARCH_URL", words, "", "base address of the web search, when it is not the provider's own"
    )
    tavily_own_key: str = setting(
        "HEADWAY_TAVILY_API_KEY", words, "", "key for Tavily; TAVILY_API_KEY is taken as well", secret=True
    )
    tavily_key_fallback: str = setting("TAVILY_API_KEY", words, "", "used when the one above is not set", secret=True)
    brave_own_key: str = setting(
        "HEADWAY_BRAVE_API_KEY", words, "", "key for Brave Search; BRAVE_API_KEY is taken as well", secret=True
    )
    brave_key_fallback: str = setting("BRAVE_API_KEY", words, "", "used when the one above is not set", secret=True)
    web_cap: float = setting("HEADWAY_WEB_SEARCH_CAP", positive_span, "2500ms", "most time for one web search")
    web_floor: float = setting(
        "HEADWAY_WEB_SEARCH_FLOOR", span, "150ms", "least time with which the web is asked at all"
    )
    web_results: int = setting("HEADWAY_WEB_RESULTS", whole(1, 20), "6", "results asked of the web")

    def __post_init__(self) -> None:
        if self.web_search_url and not self.web_search_url.startswith(("http://", "https://")):
            raise ValueError("HEADWAY_WEB_SEARCH_URL must begin with http:// or https://")
        if self.web_search == "brave" and not self.brave_key:
            raise ValueError("HEADWAY_WEB_SEARCH is brave, but HEADWAY_BRAVE_API_KEY is not set")
        if self.web_search == "tavily" and not self.tavily_key and not self.web_search_url:
            raise ValueError(
                "HEADWAY_WEB_SEARCH is tavily, but neither HEADWAY_TAVILY_API_KEY nor HEADWAY_WEB_SEARCH_URL is set"
            )

    @property
    def tavily_key(self) -> str:
        """The key for Tavily; may be empty."""
        return self.tavily_own_key or self.tavily_key_fallback

    @property
    def brave_key(self) -> str:
        """The key for Brave Search; may be empty."""
        return self.brave_own_key or self.brave_key_fallback

    @property
    def index(self) -> Path:
        """The file that the catalogue is kept in."""
        return self.state / "catalogue.index"

    def web_provider(self) -> str:
        """``tavily``, ``brave`` or ``none``."""
        if self.web_search != "auto":
            return self.web_search
        if self.tavily_key or (self.web_search_url and not self.brave_key):
            return "tavily"
        return "brave" if self.brave_key else "none"
