.DEFAULT_GOAL := help
.PHONY: help demo run up test test-localmodel check bench soak lock clean

BIN := .venv/bin

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.runtime ## Grow a lineage with no model and no services, then serve it (SERVE=0: only grow)
	$(BIN)/python manage.py demo $(if $(filter 0,$(SERVE)),--no-serve) $(if $(BIND),--bind $(BIND))

run: .venv/.runtime ## Serve the pages and run a worker
	$(BIN)/python manage.py serve $(if $(BIND),--bind $(BIND))

up: ## Run all of it with Docker Compose (web, workers, beat, PostgreSQL, Redis)
	scripts/secrets
	docker compose up --detach --build --wait
	@echo "The pages are at http://$$(docker compose port web 8000). The first account:"
	@echo "  docker compose exec web python manage.py createsuperuser"

test: .venv/.dev ## Bring up what the tests need and run them all (ARGS="-k …" for some)
	scripts/test $(ARGS)

test-localmodel: .venv/.dev ## Ask a small real model on this machine, through both SDKs
	scripts/localmodel --install
	ENVEVO_REQUIRE=localmodel $(BIN)/python -m pytest -m localmodel $(ARGS)

check: .venv/.dev ## Lint, types, floors, migrations, templates
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/djlint templates --lint --quiet

bench: .venv/.dev ## Measure against plain commands, as ratios (with a Docker engine)
	scripts/bench

soak: .venv/.dev ## The long proof: every seed, every effort, 15 generations (SANDBOX=docker)
	scripts/soak $(SANDBOX)

lock: ## Resolve the dependencies again
	scripts/lock

.venv/.runtime: requirements.lock
	scripts/install $<
	touch $@

.venv/.dev: requirements-dev.lock
	scripts/install $<
	touch .venv/.runtime $@

clean: ## Remove caches and the virtual environment; what runs and what is stored stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis staticfiles
