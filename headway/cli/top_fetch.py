"""Where the metrics of a mesh are, and one look at all of them.

Decides addresses and how long a look may take. A service that does not answer is an answer in words, never an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp

from headway.cli.endpoints import SERVICES, metrics_address, reachable
from headway.cli.state import MeshState
from headway.cli.top_metrics import Values, parsed

LOOK_WITHIN = 2.0
_MOST_BYTES = 8 * 1024 * 1024


def addresses(state: MeshState | None, listens: Mapping[str, str], offset: int) -> dict[str, str]:
    """Where each service serves its metrics: of the mesh that runs here, else where the settings say."""
    known = state.addresses if state is not None else {}
    return {name: metrics_address(known.get(name) or reachable(listens[name]), offset) for name in SERVICES}


class Looker:
    """Asks the services at ``at`` (address by name) for their metrics, all at once."""

    def __init__(self, session: aiohttp.ClientSession, at: Mapping[str, str]) -> None:
        self._session = session
        self._at = at

    async def look(self) -> dict[str, Values | str]:
        """What each service says, or in words why it says nothing."""
        answers = await asyncio.gather(*(self._ask(address) for address in self._at.values()))
        return dict(zip(self._at, answers, strict=True))

    async def _ask(self, address: str) -> Values | str:
        try:
            async with self._session.get(f"http://{address}/metrics") as response:
                if response.status != 200:
                    return f"{address} answers with status {response.status}"
                text = (await response.content.read(_MOST_BYTES)).decode()
            found = parsed(text)
        except TimeoutError:
            return f"{address} does not answer within {LOOK_WITHIN:g} s"
        except aiohttp.ClientConnectorError:
            return f"nothing answers at {address}"
        except (aiohttp.ClientError, ValueError) as fault:
            return f"{address} gives no metrics ({type(fault).__name__})"
        return found or f"{address} gives no metrics of Headway"


@asynccontextmanager
async def looking(at: Mapping[str, str]) -> AsyncIterator[Looker]:
    """Connections to the services, kept for as long as the block lasts."""
    timeout = aiohttp.ClientTimeout(total=LOOK_WITHIN)
    # Not trust_env: a proxy that is set for the web would be asked for services of this machine as well.
    async with aiohttp.ClientSession(timeout=timeout) as session:
        yield Looker(session, at)
