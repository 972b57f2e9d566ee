"""Is the average stay longer than five days? Each patient counts once, with the average of their stays, cut to 0–30 days."""

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_csv("examples/stays/stays.csv"),
    privacy_unit=dp.unit_of(contributions=1, identifier="patient"),
    privacy_loss=dp.loss_of(epsilon=1.0),
    split_evenly_over=1,
    margins=[dp.polars.Margin(max_length=10_000)],
)
patients = context.query().group_by("patient").agg(pl.col("days").fill_null(0).clip(0, 30).mean())
mean = patients.select(pl.col("days").fill_null(0).fill_nan(0).dp.mean(bounds=(0.0, 30.0))).release().collect().item()
print("yes" if mean > 5 else "no")
