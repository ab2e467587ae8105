"""One folder per paper with all that is its own; nothing before this room depends on any of them.

In: what the other rooms offer to plugins.
Out: numbers and claims (numbers.yaml), and where a paper has them audits, illustrations, tables, learners,
protocols and data. `audit` has what all audits share.
"""
