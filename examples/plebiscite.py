"""Did the majority mean to vote yes? Private answers about a real survey, with the accuracy of each.

The 1988 Chilean plebiscite: 868 of 2,700 people asked said yes, 889 no. See examples/chile/README.md.
"""

import sys
from pathlib import Path

from duotone import ApproxDP, plotting, prepare

survey = Path(__file__).parent / "chile" / "chile.csv"
types = {"age": "number", "income": "number"}
privacy = ApproxDP(1, "1e-6")
QUESTIONS = {
    "Is there a majority for yes?": ("count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N')", {}),
    "Is the mean age above 38?": ("avg(age) > 38", {"age": (18, 70, 1)}),
    "Do women earn less than men, on average?": (
        "avg(income) filter (where sex = 'F') < avg(income) filter (where sex = 'M')",
        {"income": (0, 200_000, 100)},
    ),
    "Do more women than men say yes?": (
        "avg(vote = 'Y') filter (where sex = 'F') > avg(vote = 'Y') filter (where sex = 'M')",
        {},
    ),
}

for words, (question, bounds) in QUESTIONS.items():
    asked = prepare(survey, question, privacy, types=types, bounds=bounds)
    print(
        f"{words:42} {asked.release()!s:4} (1 person from flipping: wrong with {asked.error(1):.3f}; 5: {asked.error(5):.4f})"
    )

regions = prepare(survey, "select region, count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N') "
                          "from chile group by region", privacy)  # fmt: skip
print(
    "A majority for yes, by region:", ", ".join(f"{k}: {'yes' if a else 'no'}" for (k,), a in regions.release().answers.items())
)

if len(sys.argv) > 1:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    print("wrote", plotting.save(plotting.error_by_distance([privacy, regions.terms.share]), folder / "plebiscite.svg"))
