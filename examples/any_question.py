"""Any question at all, by parts: how well a trained model does, which is a function of a data frame.

A fresh interpreter imports this file by name, and asks the function of each part: so what asks is under `__main__`.
"""

from pathlib import Path
from typing import Any

import numpy as np

STAYS = Path(__file__).parent / "stays" / "stays.toml"


def costs_are_predicted(frame: Any) -> bool:
    """Whether a regression on days and age, trained on half of the stays, explains most of the other half's costs."""
    inputs = np.column_stack([frame["days"], frame["age"], np.ones(len(frame))])
    costs, half = frame["cost"].to_numpy(), len(frame) // 2  # rows come in random order
    model = np.linalg.lstsq(inputs[:half], costs[:half], rcond=None)[0]
    off = costs[half:] - inputs[half:] @ model
    return bool(off.var() < 0.5 * costs[half:].var())


if __name__ == "__main__":
    from duotone import Dataset
    from duotone.tables.ask import ask_any

    answer = ask_any(Dataset.load(STAYS), costs_are_predicted, parts=31, epsilon=1, delta="1e-6")
    print(f"Do days and age predict costs? {answer}")
