# Every target sets up what it needs: a machine with Python 3.11 and make is enough.

PYTHON ?= python3
VENV ?= .venv
# Where to take torch from, if not from the default package index (say, an index of CPU builds).
TORCH_INDEX ?=
# Processes for the tests.
JOBS ?= 2

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test lint docs notebooks bench clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[all]'
	touch $@

demo: install
	$(BIN)/wager train grand-exchange --minutes 5 --out runs/demo --resume

test: install
	$(BIN)/python -m pytest -n $(JOBS)

# mypy reads the package as a user's machine has it: the folders mapped under the name wager.
lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/lint
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --target build/lint .
	cd build/lint && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p wager \
		-p wager_garble -p wager_grand_exchange -p wager_poker

docs: install
	$(BIN)/sphinx-build -q -W -b html docs build/docs

notebooks: install
	$(BIN)/python -m pytest --nbmake --nbmake-timeout=300 notebooks

bench: install
	$(BIN)/wager bench grand-exchange
	$(BIN)/wager bench garble
	$(BIN)/wager bench poker

clean:
	rm -rf build $(VENV) .mypy_cache .pytest_cache .ruff_cache
