"""The places of what a pass counts in the array `counters`, and the roles of its rounds.

EXTRA belongs to the kernel: changes of Sigma that are pending, an exponent, or support examples. POSITIVES
are the predicted examples of the positive class, FALSE_ALARMS the mistakes on the others. UNLEARNED is how
many examples were predicted and not learnt, less those that were learnt without a prediction. BROKEN_ROUND
and BROKEN_ENTRY say where the first breakdown is: after how many predictions, at which entry of the order.
"""

ROUNDS, MISTAKES, UPDATES, EFFECTIVE, BREAKDOWNS, EXTRA, POSITIVES, FALSE_ALARMS, UNLEARNED = range(9)
BROKEN_ROUND, BROKEN_ENTRY = 9, 10
COUNTERS = 11
#: An entry of an order is the number of a row, plus one of these if its round only predicts or only learns.
ONLY_PREDICT, ONLY_LEARN = 2**60, 2**61
#: The bits of an entry that are its row.
ROW = ONLY_PREDICT - 1
