"""Definition to IR: pure passes, errors as data, two renderers at the end.

templates -> bindings -> features -> refs -> blocks -> sentinel     (the resolved steps)
virtual -> checks -> loops                                          (the executable list)
ir, engine_target                                                   (the renderers)
"""
