"""One folder per paper with everything that only this paper needs; no other package depends on them.

In: the decorators with which plugins register.
Out: numbers and claims (numbers.yaml) and, where a paper has them, audits, illustrations, tables, learners,
protocols and data. `audit` and `contrasts` have what several papers share.
"""
