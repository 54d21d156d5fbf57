"""Code shared by the drivers of the agent contracts. A driver imports the kernel, and no other driver."""
