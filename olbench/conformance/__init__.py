"""Is this implementation the algorithm of its paper?

In: a learner of any library, as an object, a rule or a process, and the id of an algorithm.
Out: a verdict; if it does not conform, the known convention or defect that explains it.
"""
