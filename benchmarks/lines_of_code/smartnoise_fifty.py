"""Has maternity at least fifty patients from 35 on?"""

import pandas as pd
import snsql

columns = {"patient": {"type": "string", "private_id": True}, "ward": {"type": "string"}, "age": {"type": "int"}}
metadata = {"": {"hospital": {"stays": {"max_ids": 1, **columns}}}}
privacy = snsql.Privacy(epsilon=1.0, delta=1e-6)
reader = snsql.from_df(pd.read_csv("examples/stays/stays.csv"), privacy=privacy, metadata=metadata)
where = "WHERE ward = 'Maternity' AND age >= 35"
[[people]] = reader.execute(f"SELECT COUNT(DISTINCT patient) AS people FROM hospital.stays {where}")[1:]
print("yes" if people >= 50 else "no")
