"""The studio that acts: the page of a project, served on this machine, following its files.

`board` knows the project, `what_if` plays other answers, `actions` do what a person asks for, `server` speaks HTTP.
"""
