"""Web search: one seam, an adapter for each provider, and what becomes of the results. Knows neither catalogue nor
messages."""
