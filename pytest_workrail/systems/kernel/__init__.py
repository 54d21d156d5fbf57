"""What the drivers of the agent contracts share. A driver imports the kernel, and no other driver."""
