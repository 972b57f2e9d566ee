PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := $(VENV)/.ready-for-demo
OUT := out
# bytecode is kept, that of tests with their assertions, too: else each of many processes compiles what it imports
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: setup demo programs quick test types suite prover proofs mutants exhaustive coverage docs bench bench-quick release-check clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV) with everything that tests need: some minutes"
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --no-compile -e ".[cli,tables,draw,audit,postgres,spark,service,dev]"
	-$(BIN)/python -m compileall -q -j 0 -x '/tests/|/(pip|setuptools|mypy|mypyc|debugpy)/' $(VENV)/lib src
	touch $@ $(DEMO)

$(DEMO): pyproject.toml constraints.txt
	@echo "setting up $(VENV): about a minute"
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e ".[cli,tables,draw,service]"
	touch $@

demo: $(DEMO)
	mkdir -p $(OUT)
	$(BIN)/python examples/plebiscite.py $(OUT)
	$(BIN)/duotone ask examples/chile/chile.csv "avg(age) > 38" --types age=number --bounds age=18:70:1 \
		--epsilon 1 --delta 1e-6 --preview
	@echo "To let others ask while the table stays here: $(BIN)/duotone serve --demo, and open the address that it names."

# what tests need and pip does not have: a browser, and a compiler for the GPU's kernels on a CPU
programs:
	@for program in chromium g++; do command -v $$program >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& echo "installing $$program by apt" && apt-get update -qq >/dev/null \
		&& apt-get install -y -qq --no-install-recommends $$program >/dev/null; } \
		|| echo "$$program is missing: its tests are skipped, or fail where CI is set (apt install $$program)"; done

# rooms that open no table and serve nobody, and what holds names, pages and rooms together
SOON := $(addprefix tests/,privacy line graphs questions model release ledger words tables/sql) $(wildcard tests/test_*.py)
quick: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" -k "not postgres" $(SOON)

# types beside the tests, and three of these on two cores: they wait for servers, browsers and clocks now and then
test: setup programs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(MAKE) --no-print-directory --jobs 2 types suite

types: setup
	$(BIN)/mypy

suite: setup
	$(BIN)/python -m pytest -n 3 --dist worksteal --ignore tests/proofs

# Coq and what compiles the checker that it proves
PROVERS := coq libzarith-ocaml-dev
prover:
	@{ command -v coqc && ocamlfind ocamlopt -version && ocamlfind query -format %d zarith && ls "$$(ocamlfind query zarith)/zarith.cmxa"; } \
		>/dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing $(PROVERS) by apt" \
		&& apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends $(PROVERS) >/dev/null; } \
		|| { echo "the proofs need Coq 8.16 and zarith: apt install $(PROVERS)"; exit 1; }

# every proof, what they rest on, the checker made of them, and that it agrees with the other two
proofs: setup prover
	$(MAKE) --no-print-directory --jobs 2 --directory proofs
	@cat proofs/assumptions.txt
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/proofs

# branch coverage of what privacy rests on, as pyproject.toml lists it (CONTRIBUTING.md explains each exception)
COVERED := tests/privacy tests/line tests/graphs tests/questions tests/release tests/model tests/ledger tests/tables tests/cli src
coverage: setup programs
	$(INSTALL) coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 --dist worksteal $(COVERED)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# the checker made weaker, one inequality at a time: each time a proof fails
mutants: setup prover
	$(MAKE) --no-print-directory --jobs 2 --directory proofs
	$(BIN)/python -m pytest -n 2 --dist worksteal --verbose tests/proofs/test_mutants.py

exhaustive: setup programs
	$(BIN)/python tests/hostile/exhaustive.py 10000000
	$(BIN)/python tests/hostile/every_question.py 100000 1000
	$(BIN)/python tests/hostile/which_questions.py 100000
	$(BIN)/python tests/hostile/slow_questions.py 10000
	DUOTONE_EXHAUSTIVE=1 $(BIN)/python -m pytest -n 2 --dist worksteal --ignore tests/proofs
	DUOTONE_SEQUENCES=100000 $(BIN)/python -m pytest -n 2 tests/ledger/test_accountant.py
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m pytest -n 2 --dist worksteal -p support.contrary -m "not false_alarm"

# the variable silences a notice of the theme; with --quiet, warnings would be no errors
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench bench-quick: setup
	$(INSTALL) -e ".[bench]"
	$(BIN)/python benchmarks/scale.py $(OUT)/scale $(QUICK)
	$(BIN)/python benchmarks/graph_json.py $(SMALL)
	$(BIN)/python benchmarks/release.py $(SMALL)
	$(BIN)/python benchmarks/close_calls.py
	$(BIN)/python benchmarks/tables.py $(SMALL)
	$(BIN)/python benchmarks/margins.py $(SMALL)
	$(BIN)/python benchmarks/certain.py
	$(BIN)/python benchmarks/power.py
	$(BIN)/python benchmarks/renyi_lines.py
	$(BIN)/python benchmarks/many_answers/compare.py opendp=$(BIN)/python
	$(BIN)/python benchmarks/engines.py postgres $(SMALL)
	$(BIN)/python benchmarks/engines.py spark $(SMALL)
	$(BIN)/python benchmarks/engines.py groups $(SMALL)
	$(BIN)/python benchmarks/audits.py $(OUT)/audits $(QUICK)
	$(BIN)/python benchmarks/accuracy.py $(OUT)/accuracy
	$(BIN)/python benchmarks/ledger.py $(OUT)/ledger $(FEW)
	$(BIN)/python benchmarks/service_load.py $(FEW)
	$(BIN)/python benchmarks/service_timing.py $(FEW)
	$(BIN)/python benchmarks/lines_of_code/count.py

# each benchmark once, small: whether it still works
bench-quick: QUICK := --quick
bench-quick: SMALL := 100000
bench-quick: FEW := 200

release-check: setup
	$(INSTALL) twine
	$(BIN)/python tools/release_check.py

clean:
	rm -rf $(VENV) $(OUT) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
