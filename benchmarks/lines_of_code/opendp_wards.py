"""Do patients stay longer in geriatrics than in surgery, on average? Each patient counts once in a ward, cut to 0–30 days."""

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_csv("examples/stays/stays.csv"),
    privacy_unit=dp.unit_of(contributions=1, identifier="patient"),
    privacy_loss=dp.loss_of(epsilon=1.0),
    split_evenly_over=2,
    margins=[dp.polars.Margin(max_length=10_000)],
)


def mean(ward: str) -> float:
    """The mean of a ward, with half of the budget: a patient may be in both."""
    patients = (
        context.query().filter(pl.col("ward") == ward).group_by("patient").agg(pl.col("days").fill_null(0).clip(0, 30).mean())
    )
    released = patients.select(pl.col("days").fill_null(0).fill_nan(0).dp.mean(bounds=(0.0, 30.0))).release()
    return float(released.collect().item())


print("yes" if mean("Geriatrics") > mean("Surgery") else "no")
