"""What a workflow does, as far as its text tells: control flow, variables, values, reachability."""
