"""Ways of asking a store. Each says what to ask in no engine's words; none knows an engine."""
