"""Design the paper's Fig. 2 mechanism, check it, and draw it. Usage: figure_2.py [FOLDER]."""

import sys
from pathlib import Path

from duotone import ApproxDP, Infeasible, design, plotting
from duotone.graphs import families

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)
graph, boundary = families.figure_2(), {"h": "0.6", "l": "0.7"}
privacy = ApproxDP(exp_epsilon=2, delta="0.1")

mechanism = design(graph, privacy, boundary)
print(f"Fig. 2 with 0.6 at h and 0.7 at l, under {privacy}:")
print("  Pr[yes] " + ", ".join(f"{d} {float(p):g}" for d, p in mechanism.yes.items()))
result = mechanism.check(privacy)
print(f"  private: {result.holds}; tightest pair {result.edge}, slack {result.slack}")

try:
    design(graph, ApproxDP(exp_epsilon="1.1"), boundary)
except Infeasible as clash:
    print(f"  under (log 1.1, 0): {clash}")

for name, figure in {
    "figure-2": plotting.boundary_graph(graph, families.FIGURE_2_POSITIONS),
    "figure-2-mechanism": plotting.graph(mechanism, families.FIGURE_2_POSITIONS),
}.items():
    print(f"  wrote {plotting.save(figure, folder / f'{name}.svg')} and {plotting.save(figure, folder / f'{name}.png').name}")
