"""Has maternity at least fifty patients from 35 on?"""

from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, PureDPBudget, QueryBuilder, Session

rows = SparkSession.builder.getOrCreate().read.csv("examples/stays/stays.csv", header=True, inferSchema=True)
stays = rows.drop("readmitted")  # no Booleans
session = Session.from_dataframe(PureDPBudget(1), "stays", stays, protected_change=AddRowsWithID(id_column="patient"))
maternity = QueryBuilder("stays").filter("ward = 'Maternity' and age >= 35")
people = session.evaluate(maternity.count_distinct(["patient"], name="people"), PureDPBudget(1)).first()["people"]
print("yes" if people >= 50 else "no")
