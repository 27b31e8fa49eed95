"""Says what a query asks for: language, intent, slots, complexity and embedding."""
