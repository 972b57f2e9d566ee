"""Is the average stay longer than five days? Up to three stays of a patient count, cut to 0–30 days."""

from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

rows = SparkSession.builder.getOrCreate().read.csv("examples/stays/stays.csv", header=True, inferSchema=True)
stays = rows.drop("readmitted")  # no Booleans
session = Session.from_dataframe(PureDPBudget(1), "stays", stays, protected_change=AddRowsWithID(id_column="patient"))
average = QueryBuilder("stays").enforce(MaxRowsPerID(3)).average("days", low=0, high=30, name="mean")
mean = session.evaluate(average, PureDPBudget(1)).first()["mean"]
print("yes" if mean > 5 else "no")
