"""The interpreter, at its public address."""

from pytest_workrail.engine.core.interpreter import Interpreter

__all__ = ["Interpreter"]
