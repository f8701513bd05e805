# GNU make and Python 3.11 or newer are all that is needed; the rest goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
URL ?=
ROUNDS ?= 3
PLOT ?=
.DELETE_ON_ERROR:
.PHONY: help crawl test lint types unit servers bench chaos docs format clean

help:  ## Say what can be made.
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

crawl: $(VENV)/.installed  ## Crawl URL=https://…, or a simulated web without one.
	@$(BIN)/python tools/demo.py $(if $(URL),'$(URL)')

test: lint types unit  ## Lint, check types, run every everyday test.

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

unit: $(VENV)/.installed-dev servers
	$(BIN)/pytest -n auto -m "not slow"

servers:
	@tests/install-servers

bench: $(VENV)/.installed-dev servers  ## Measure against other crawlers.
	$(BIN)/skitter bench --site jdk --rounds $(ROUNDS) $(if $(PLOT),--plot '$(PLOT)')

chaos: $(VENV)/.installed-dev servers  ## Kill and freeze crawls, at full size; takes two hours.
	$(BIN)/pytest -n auto -m slow
	$(BIN)/skitter chaos --scenario everything --duration 120
	$(BIN)/skitter chaos --scenario soak --duration 600

docs: $(VENV)/.installed-dev  ## Write docs/reference/ from the code.
	$(BIN)/python -m skitter.cli.reference docs/reference

format: $(VENV)/.installed-dev  ## Format the code.
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

clean:  ## Remove what was made, not what was crawled.
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps make the second run quick: an install happens again when pyproject.toml changes.
$(VENV)/.created:
	@$(PYTHON) tools/check_python.py
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.installed
