"""The rule language: text -> D x <= d => z, what it covers in the data, and where rules contradict."""

from olbench.advice.compile import compile_rules, compile_texts
from olbench.advice.files import RuleFile, read_rules
from olbench.advice.names import Names
from olbench.advice.sets import Advice, AdviceSet

__all__ = ["Advice", "AdviceSet", "Names", "RuleFile", "compile_rules", "compile_texts", "read_rules"]
