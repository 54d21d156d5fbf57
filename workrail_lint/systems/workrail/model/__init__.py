"""The typed model of a workflow: generated classes (`workflow`), their behaviour (`nodes`), and how they are built."""
