# Every target sets up what it needs: a machine with Python 3.11 and make is enough.

PYTHON ?= python3
VENV ?= .venv
# Where to take torch from, if not from the default package index (say, an index of CPU builds).
TORCH_INDEX ?=
# Processes for the tests.
JOBS ?= 2

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test lint docs notebooks bench dist extras clean

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

# A wheel, and a look at whether it and its dependencies stand in a fresh environment.
dist: install
	rm -rf build dist
	$(BIN)/python -m build -q .
	$(PYTHON) -m venv build/venv
	build/venv/bin/python -m pip install --quiet dist/*.whl
	build/venv/bin/python -m pip check
	cd build && venv/bin/wager --version && venv/bin/wager probe grand-exchange

# Every extra has releases to install on every Python that the package names.
extras: install
	mkdir -p build
	for python in 3.11 3.12 3.13 3.14; do for extra in all video trl; do \
		$(BIN)/uv pip compile -q pyproject.toml --extra $$extra -c constraints.txt --python-version $$python \
			--only-binary :all: --no-binary rlcard -o build/extra.txt || exit 1; \
		echo "$$python $$extra: $$(grep -c == build/extra.txt) packages"; \
	done; done

clean:
	rm -rf build dist $(VENV) .mypy_cache .pytest_cache .ruff_cache
