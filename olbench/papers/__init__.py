"""One folder per paper with all that is its own: numbers and claims, audit, figures, learners, protocols.

A paper is a plugin that ships: its parts are found by the names of their files (`algorithms`, `protocol`,
`tables`, `illustrations`, `audit`). No paper imports another; `audit/` is what their audits share.
"""
