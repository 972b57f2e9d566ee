"""Is the average stay longer than five days? Up to three stays of a patient count, drawn at random, cut to 0–30 days."""

import pandas as pd
import snsql

columns = {"patient": {"type": "string", "private_id": True}, "days": {"type": "int", "lower": 0, "upper": 30}}
metadata = {"": {"hospital": {"stays": {"max_ids": 3, **columns}}}}
privacy = snsql.Privacy(epsilon=0.5, delta=1e-6)  # an average is a sum and a count, and costs twice this
reader = snsql.from_df(pd.read_csv("examples/stays/stays.csv"), privacy=privacy, metadata=metadata)
[[mean]] = reader.execute("SELECT AVG(days) AS mean FROM hospital.stays")[1:]
print("yes" if mean > 5 else "no")
