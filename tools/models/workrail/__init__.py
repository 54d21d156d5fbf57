"""The workflow document as pydantic models: the one source of schemas, closed sets and editor help.

Nothing is imported here: `enums` must stay cheap for modules on the start-up path, and the models
themselves (`workflow.Workflow`, `design.DesignWorkflow`, `bindings.Bindings`) need pydantic.
"""
