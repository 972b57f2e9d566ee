"""Do patients stay longer in geriatrics than in surgery, on average? Up to three stays of a patient count, cut to 0–30 days."""

import pandas as pd
import snsql

patient, ward = {"type": "string", "private_id": True}, {"type": "string"}
columns = {"patient": patient, "ward": ward, "days": {"type": "int", "lower": 0, "upper": 30}}
metadata = {"": {"hospital": {"stays": {"max_ids": 3, **columns}}}}
privacy = snsql.Privacy(epsilon=0.5, delta=1e-6)  # an average is a sum and a count, and costs twice this
reader = snsql.from_df(pd.read_csv("examples/stays/stays.csv"), privacy=privacy, metadata=metadata)
mean = dict(reader.execute("SELECT ward, AVG(days) AS mean FROM hospital.stays GROUP BY ward")[1:])
print("yes" if mean["Geriatrics"] > mean["Surgery"] else "no")
