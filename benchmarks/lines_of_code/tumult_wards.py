"""Do patients stay longer in geriatrics than in surgery, on average? Up to three stays of a patient count, cut to 0–30 days."""

from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

rows = SparkSession.builder.getOrCreate().read.csv("examples/stays/stays.csv", header=True, inferSchema=True)
stays = rows.drop("readmitted")  # no Booleans
session = Session.from_dataframe(PureDPBudget(1), "stays", stays, protected_change=AddRowsWithID(id_column="patient"))
wards = QueryBuilder("stays").enforce(MaxRowsPerID(3)).groupby(KeySet.from_dict({"ward": ["Geriatrics", "Surgery"]}))
average = wards.average("days", low=0, high=30, name="mean")
mean = {row["ward"]: row["mean"] for row in session.evaluate(average, PureDPBudget(1)).collect()}
print("yes" if mean["Geriatrics"] > mean["Surgery"] else "no")
