"""Generated from proto/headway/v1 by ``make proto``; never edited."""
