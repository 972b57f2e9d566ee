PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OUT := out

.PHONY: setup demo quick test exhaustive docs bench bench-quick clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[cli,tables,draw,audit,postgres,spark,dev]"
	touch $@

demo: setup
	mkdir -p $(OUT)
	$(BIN)/python examples/plebiscite.py $(OUT)
	$(BIN)/duotone ask examples/chile/chile.csv "avg(age) > 38" --bounds age=18:70:1 --epsilon 1 --delta 1e-6 --preview

quick: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" tests

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal

exhaustive: setup
	$(BIN)/python tests/hostile/exhaustive.py 10000000
	DUOTONE_EXHAUSTIVE=1 $(BIN)/python -m pytest -n 2 tests/graphs/test_optimum.py tests/tables/test_real_data.py tests/tables/test_brute_force.py \
	  tests/tables/test_json_lines.py tests/tables/test_date_formats.py -k "six_nodes or equal_always or brute_force or no_line_changes or by_its_format"
	DUOTONE_SEQUENCES=100000 $(BIN)/python -m pytest -n 2 tests/ledger/test_accountant.py
	PYTHONPATH=$(CURDIR)/tests/support $(BIN)/python -m pytest -n 2 --dist worksteal -p contrary -m "not false_alarm"

docs: setup
	$(BIN)/mkdocs build --strict --quiet

bench bench-quick: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	$(BIN)/python benchmarks/scale.py $(OUT)/scale $(QUICK)
	$(BIN)/python benchmarks/release.py $(SMALL)
	$(BIN)/python benchmarks/tables.py $(SMALL)
	$(BIN)/python benchmarks/engines.py postgres $(SMALL)
	$(BIN)/python benchmarks/engines.py spark $(SMALL)
	$(BIN)/python benchmarks/engines.py groups $(SMALL)
	$(BIN)/python benchmarks/audits.py $(OUT)/audits $(QUICK)
	$(BIN)/python benchmarks/accuracy.py $(OUT)/accuracy
	$(BIN)/python benchmarks/ledger.py $(OUT)/ledger

# each benchmark once, small: whether it still works
bench-quick: QUICK := --quick
bench-quick: SMALL := 100000

clean:
	rm -rf $(VENV) $(OUT) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
