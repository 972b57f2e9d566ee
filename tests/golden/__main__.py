from __future__ import annotations

import json
import tempfile
from pathlib import Path

from golden.record import KEPT, record

with tempfile.TemporaryDirectory() as folder:
    KEPT.write_text(json.dumps(list(record(Path(folder))), indent=1, ensure_ascii=False) + "\n")
