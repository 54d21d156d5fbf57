"""Static analysis of a workflow: control flow, variables, values, reachability."""
