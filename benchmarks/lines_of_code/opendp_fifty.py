"""Has maternity at least fifty patients from 35 on?"""

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_csv("examples/stays/stays.csv"),
    privacy_unit=dp.unit_of(contributions=1, identifier="patient"),
    privacy_loss=dp.loss_of(epsilon=1.0),
    split_evenly_over=1,
)
maternity = context.query().filter((pl.col("ward") == "Maternity") & (pl.col("age") >= 35)).truncate_per_group(1)
people = maternity.select(dp.len(signed=True)).release().collect().item()
print("yes" if people >= 50 else "no")
