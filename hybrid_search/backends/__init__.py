"""The stores: each the only place that knows its engine."""
