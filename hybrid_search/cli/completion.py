"""What the shell can complete, from the registry. A completion never fails and prints nothing."""


def legs(incomplete: str) -> list[str]:
    """Complete the name of a leg.

    >>> legs("b")
    ['bm25']
    """
    return components("legs", incomplete)


def embedders(incomplete: str) -> list[str]:
    """Complete the name of an embedder."""
    return components("embedders", incomplete)


def families(incomplete: str) -> list[str]:
    """Complete the name of a family of components."""
    from hybrid_search.registry import FAMILIES

    return [family for family in FAMILIES if family.startswith(incomplete)]


def components(family: str, incomplete: str) -> list[str]:
    """List the components of a family whose names begin like this."""
    from hybrid_search import registry

    return [name for name in registry.names(family) if name.startswith(incomplete)]
