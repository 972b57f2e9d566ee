"""Do patients stay longer in geriatrics than in surgery, on average? Each patient counts once in a ward, cut to 0–30 days."""

from duotone import Dataset, ask

stays = Dataset("examples/stays/stays.csv", types={"days": "number"})
longer = "avg(days) filter (where ward = 'Geriatrics') > avg(days) filter (where ward = 'Surgery')"
print(ask(stays, longer, epsilon=1, delta="1e-6", unit="patient", per_unit="avg", bounds={"days": (0, 30)}))
