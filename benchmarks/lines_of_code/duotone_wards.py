"""Do patients stay longer in geriatrics than in surgery, on average? Each patient counts once in a ward, cut to 0–30 days."""

from duotone import ask

longer = "avg(days) filter (where ward = 'Geriatrics') > avg(days) filter (where ward = 'Surgery')"
about = {"unit": "patient", "per_unit": "avg", "bounds": {"days": (0, 30)}}
print(ask("examples/stays/stays.csv", longer, epsilon=1, delta="1e-6", **about))
