"""The condition language, at its public address."""

from pytest_workrail.engine.core.conditions import evaluate

__all__ = ["evaluate"]
