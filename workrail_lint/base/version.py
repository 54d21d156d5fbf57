"""The version, in one place that costs nothing to import; the build reads it from here too."""

VERSION = "1.0.0"
