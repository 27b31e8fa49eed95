"""Stand-ins, over real HTTP, for what the mesh calls: two model providers and a web search."""
