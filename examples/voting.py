"""Did the majority of 1,001 people vote yes? The level has a closed form, so nobody builds 2^1001 datasets."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from duotone import ApproxDP, Coin, balanced, prove
from duotone.graphs import families
from duotone.graphs.document import read

votes = "1" * 507 + "2" * 494  # 1 = yes, 2 = no
line = balanced(ApproxDP(1, "1e-6"))

print("How accurate will it be? Chance of a wrong answer, by how many votes the outcome is from flipping:")
for margin in (1, 2, 5, 10, 14):
    print(f"  {margin:>3}: {float(line.error(margin - 1)):.3g}")
print(f"  from {line.certain[0] + 1:g} on: exactly 0")

answer = Coin(line).answer(families.votes(len(votes)).level(votes))
print(f"Did the majority vote yes? {answer}")

with TemporaryDirectory() as folder:
    file = Path(folder) / "certificate.json"
    file.write_text(json.dumps(answer.certificate()))
    print(f"Its certificate, {file.stat().st_size} bytes, re-checked: {prove(read(file))}")
