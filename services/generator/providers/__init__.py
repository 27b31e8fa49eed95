"""One module for each provider: its wire format, behind the seam that ``services.generator.upstream`` declares."""
