# Headway. `make` or `make help` lists what there is.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.headway-setup

.DEFAULT_GOAL := help
.PHONY: help setup models proto verify-proto fmt lint type imports test check up down demo bench-mesh bench-pipeline docs lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

setup: $(STAMP) models ## Install everything the project needs into .venv and models/

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Headway needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3 setup"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	@# uv is quick but reads no pip configuration; where it cannot reach the index, pip can, by the same locked hashes.
	@$(BIN)/uv pip sync --quiet --system-certs --require-hashes --python $(BIN)/python requirements.lock \
	  || { echo "uv could not install; trying pip with your configuration, which takes some minutes"; \
	       $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --require-hashes -r requirements.lock; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

models: $(STAMP) ## Fetch the embedding model (checked by its hash; nothing to do when it is there)
	@$(BIN)/python -m headway.models

proto: $(STAMP) ## Generate the stubs in headway/v1 from proto/
	$(BIN)/python proto/generate.py

verify-proto: $(STAMP) ## buf lint, and buf breaking against the released contract
	$(BIN)/python proto/generate.py --check

fmt: $(STAMP) ## Format the code and fix what can be fixed by machine
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(STAMP) ## Check style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

type: $(STAMP) ## Check types (strict)
	$(BIN)/mypy

imports: $(STAMP) ## Check who imports whom
	$(BIN)/lint-imports

test: setup ## Set everything up and run the tests
	$(BIN)/pytest

check: lint type imports verify-proto test ## Everything that CI runs

up: setup ## Start the mesh (with simulators when no provider key is set); Ctrl-C stops it
	$(BIN)/headway up

down: ## Stop a mesh that `make up` or `headway up` left running
	$(BIN)/headway down

demo: setup ## Start the mesh, ask two questions, show the items as they land and where the time went
	$(BIN)/headway demo

bench-mesh: setup ## Measure what the mesh itself costs; writes bench/results/mesh.json
	$(BIN)/python -m bench.mesh

bench-pipeline: setup ## Measure what each technique is worth; QUICK=1 for two minutes
	$(BIN)/python -m bench.pipeline $(if $(QUICK),--quick)

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url pyproject.toml

docs: $(STAMP) ## Write the documents that are made from code
	$(BIN)/python -m services.configuration > docs/guides/configuration.md
	$(BIN)/python deploy/grafana/dashboard.py > deploy/grafana/dashboards/headway.json

lock: ## Resolve the dependencies again; writes requirements.lock, and what services need to run, requirements-runtime.lock
	$(LOCK) --extra dev --extra build --output-file requirements.lock
	$(LOCK) --constraint requirements.lock --output-file requirements-runtime.lock

clean: ## Remove what was installed, fetched and built
	rm -rf .venv models var build .pytest_cache .mypy_cache .ruff_cache .hypothesis
