"""What a larger ε buys on each dataset of the paper's Fig. 2: as a table for LaTeX, and as a picture."""

from duotone import ApproxDP, plotting
from duotone.graphs import families
from duotone.graphs.sweep import sweep

budgets = [ApproxDP(exp_epsilon=ratio, delta="1/10") for ratio in ("1.1", "1.5", "2", "3")]
swept = sweep(families.figure_2(), budgets)
print(swept.mechanisms[2].to_latex())
print("wrote", plotting.save(plotting.sweep(swept), "sweep.svg"))
