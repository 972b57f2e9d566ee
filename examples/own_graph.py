"""A dataset graph of one's own: from networkx to a mechanism, its loss, its tightest budget and its JSON."""

import json

import networkx as nx

from duotone import ApproxDP, ColouredGraph, design
from duotone.graphs.document import document, from_document
from duotone.graphs.morphism import boundary_morphism

grid = nx.grid_2d_graph(6, 6)
nx.set_node_attributes(grid, {(i, j): "blue" if i * j >= 6 else "red" for i, j in grid}, "colour")
graph = ColouredGraph.from_networkx(grid)
privacy = ApproxDP(exp_epsilon="3/2", delta="1/100")

line = boundary_morphism(graph).target
print(f"{graph}; boundary graph of {len(line)} nodes")
for boundary in ("balanced", "9/10"):
    mechanism = design(graph, privacy, boundary)
    print(f"boundary {boundary}: worst error {float(max(mechanism.error.values())):.4f}, loss {float(mechanism.loss()):.4f}")
    print(f"  private down to {mechanism.tightest(delta='1/100')}")

again, claimed = from_document(json.loads(json.dumps(document(mechanism, privacy))))
assert again.truth == mechanism.truth
assert again.check(claimed).holds
