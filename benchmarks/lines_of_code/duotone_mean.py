"""Is the average stay longer than five days? Each patient counts once, with the average of their stays, cut to 0–30 days."""

from duotone import Dataset, ask

stays = Dataset("examples/stays/stays.csv", types={"days": "number"})
print(ask(stays, "avg(days) > 5", epsilon=1, delta="1e-6", unit="patient", per_unit="avg", bounds={"days": (0, 30)}))
