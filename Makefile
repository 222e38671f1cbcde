# Everything starts from a bare checkout: each target makes the virtual environment and the build it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
MINUTES ?= 10
SEED ?= 0

SOURCES := $(wildcard native/*/*.[ch]pp native/*/*.h)
NATIVE := CMakeLists.txt $(filter-out native/tests/%,$(SOURCES))

.PHONY: demo docs tables test campaign campaign-endurance forgeries redundancy list-properties machines golden lint check-workflows test-integrations wheel-test stored-models bench bench-paths \
  bench-quality gallery ablation sanitize sanitize-threads portable fuzz mutants prove versions guarantees watch-simulation clean help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

# The library with its compiled kernels, ready to use.
$(VENV)/install.stamp: pyproject.toml $(NATIVE) | $(BIN)/python
	@echo "installing what polyrule needs and compiling its kernels: some minutes, once"
	$(BIN)/python -m pip install --quiet --editable ".[all]"
	@$(BIN)/python -c "import polyrule._native" 2> /dev/null || echo "polyrule: the C++ kernels were not built, so the slow \
	NumPy kernels do the work; why: $(BIN)/python -m pip install --verbose --editable ." >&2
	touch $@

# What the tests and linters need on top.
$(VENV)/test.stamp: pyproject.toml $(VENV)/install.stamp
	$(BIN)/python -m pip install --quiet --group test --group lint
	touch $@

# What the site needs on top.
$(VENV)/docs.stamp: pyproject.toml $(VENV)/install.stamp
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

tables: $(VENV)/install.stamp  ## write every table, picture of results and model in README and docs anew, from stored rows and data
	$(BIN)/python docs/results/tables.py
	$(BIN)/python benchmarks/peers.py --picture docs/_static/strength.png
	$(BIN)/python tools/readme.py
	$(BIN)/python tools/samples.py

docs: $(VENV)/docs.stamp  ## build the site into build/site: every example is run, a warning is an error
	rm -rf build/site
	$(BIN)/python -m sphinx -b html -W --keep-going -q -d build/doctrees docs build/site
	$(BIN)/python tools/check_links.py build/site
	@echo "open build/site/index.html"

demo: $(VENV)/install.stamp  ## learn, print and score a rule list on real data
	@$(BIN)/python examples/demo.py

# Each worker begins with a stretch of neighbours, so that what a module's tests share is mostly made once. Programs that
# the tests start read the compiled package even where the environment forbids to write such files.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/test.stamp  ## run every test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/test.stamp  ## format, lint, types, the order of the rooms and the words ceilings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py
	$(BIN)/python tools/words_check.py --check

check-workflows: $(VENV)/test.stamp  ## hold the workflow files, the issue forms and pyproject.toml against their schemas
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/validate-pyproject pyproject.toml

test-integrations: $(VENV)/test.stamp  ## run the how-to guides on other people's tools, MLflow included
	$(BIN)/python -m pip install --quiet --group integrations
	$(BIN)/python -m pytest tests/docs/test_integrations.py

wheel-test:  ## build manylinux wheels and run the tests against them; WHEEL_PYTHONS names versions
	packaging/test_wheels.sh $(WHEEL_PYTHONS)

stored-models: $(VENV)/install.stamp  ## write the model files of this version that later versions must read
	$(BIN)/python tests/model/stored/write.py

bench: $(VENV)/test.stamp  ## one table of speed beside its goals (QUICK=1: a few minutes); else peers and what measures cost, too
	$(BIN)/python benchmarks/table.py $(if $(QUICK),--quick)
ifndef QUICK
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/measures.py
endif

bench-paths: $(VENV)/test.stamp  ## what each way of the compiled search buys
	$(BIN)/python benchmarks/paths.py

bench-quality: $(VENV)/test.stamp  ## small ensembles beside tuned peers (PEER=python with mlrl-boomer)
	$(BIN)/python benchmarks/quality.py $(if $(PEER),--peer $(PEER))

gallery: $(VENV)/install.stamp  ## reports for three kinds of data, in gallery/
	$(BIN)/python examples/gallery.py

campaign: $(VENV)/test.stamp  ## new random worlds for MINUTES from SEED: the compiled engine against the reference and a slow twin
	$(BIN)/python -m tests.campaign --minutes $(MINUTES) --seed $(SEED)

FORGERIES ?= 2000

forgeries: $(VENV)/test.stamp  ## forge FORGERIES model files of each kind from SEED: verify must find every change
	$(BIN)/python -m tests.campaign.forgeries --per-kind $(FORGERIES) --seed $(SEED)

MODELS ?= 1000

redundancy: $(VENV)/test.stamp  ## fit MODELS ensembles and scorecards from SEED: no condition, member or label can be left out without loss
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.campaign.redundancy --models $(MODELS) --seed $(SEED)

list-properties: $(VENV)/test.stamp  ## fit MODELS lists: nothing can be left out without loss, no label is predicted for all by rules, five rows a rule
	OMP_NUM_THREADS=1 POLYRULE_LIST_FITS=$(MODELS) $(BIN)/python -m pytest -q tests/selection/test_properties.py

SHARE ?= 1

campaign-endurance: $(VENV)/test.stamp  ## slow clients, a thousand sessions, two editors, killed programs; SHARE=0.1 for a tenth
	$(BIN)/python -W ignore -m tests.campaign.endurance --share $(SHARE) --seed $(SEED)

machines: $(VENV)/test.stamp  ## how often last digits of the teacher, which differ between machines, change a model
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/machines.py

golden: $(VENV)/test.stamp  ## the rule lists and models of the benchmark data against their hashes, small ones against the reference
	$(BIN)/python -m tests.golden --reference 0.3

$(VENV)/sanitize.stamp: pyproject.toml $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --group sanitize
	touch $@

sanitize: $(VENV)/sanitize.stamp  ## the native tests under the address, undefined-behaviour and thread sanitizers
	PYTHON=$(BIN)/python native/check.sh address,undefined
	PYTHON=$(BIN)/python native/check.sh thread

sanitize-threads: $(VENV)/sanitize.stamp  ## the native tests under the thread sanitizer
	PYTHON=$(BIN)/python native/check.sh thread

portable: $(VENV)/sanitize.stamp  ## the native tests and the golden lists with the core in standard C++ (CXX names the compiler)
	TESTS="tests/search tests/golden tests/ensemble" PYTHON=$(BIN)/python native/check.sh portable

fuzz: $(VENV)/test.stamp  ## attack every reader, parser and command with mutated inputs for MINUTES
	$(BIN)/python -m fuzz --minutes $(MINUTES)

$(VENV)/mutants.stamp: pyproject.toml $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --group mutants
	touch $@

mutants: $(VENV)/mutants.stamp  ## which small changes to FILE its TESTS do not notice
	PYTHON=$(BIN)/python tools/mutants.sh $(FILE) $(TESTS)

guarantees: $(VENV)/test.stamp  ## promised beside reached levels of cutoffs with a guarantee, on held-out halves of training parts
	$(BIN)/python benchmarks/guarantees.py

ablation: $(VENV)/test.stamp  ## what each part of the learners contributes, on frozen splits of training parts (SPLITS, LEARNERS, VARIANTS)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/ablation.py --splits $(or $(SPLITS),3) \
	  $(if $(LEARNERS),--learners $(LEARNERS)) $(if $(VARIANTS),--variants $(VARIANTS))

watch-simulation: $(VENV)/test.stamp  ## false alarms and delays of model.watch, by simulation
	$(BIN)/python benchmarks/watch.py

.PHONY: relations
relations: $(VENV)/test.stamp  ## scores with and without relations between labels, on halves of training parts
	$(BIN)/python benchmarks/relations.py

versions:  ## the tests with the oldest and newest dependencies, on every Python that can be found
	tools/versions.sh

clean:  ## remove what the other targets made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache

.PHONY: prove
prove: $(VENV)/test.stamp  ## settle the fifty random measures of the tests anew, with z3
	PYTHONPATH=. $(BIN)/python tests/measures/random_expressions.py
