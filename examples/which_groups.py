"""Which groups may be shown? Partition selection is the optimum on a line whose empty group is pinned at no."""

from duotone import ApproxDP, partition_selection

rule = partition_selection(ApproxDP(1, "1e-6"))
for people in (0, 1, 5, 10, 15, 20, 25, 30):
    print(f"a group of {people:>2} is shown with probability {rule.yes(people - 1):.6g}")
print(f"from {rule.certain[0] + 1:g} people on it is always shown")
