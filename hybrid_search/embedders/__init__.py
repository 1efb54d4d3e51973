"""Texts to vectors: Titan on Bedrock, models that need no network, and a cache around any."""
