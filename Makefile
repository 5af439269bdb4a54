# Every target installs missing tools first (scripts/setup; a no-op of a tenth of a second when all is there).
CARGO ?= cargo
FERROCE := $(CARGO) run -q -p ferroce-cli --

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint soak interop interop-smoke report clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing: Debian packages, Verilator, Yosys
	@scripts/setup

demo: setup ## Build the command in release mode and run its demonstration
	$(CARGO) run --release -p ferroce-cli -- demo

test: setup ## Run all tests
	$(CARGO) test --workspace

lint: setup ## Formatting, clippy, and Verilator's lint of the generated card
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(FERROCE) generate --out target/lint --lint

soak: setup ## Run the long randomised tests in release mode
	FERROCE_SOAK=1 $(CARGO) test --release -p ferroce-tests -- --nocapture

interop: setup ## Check against peers nobody here wrote: Linux Soft-RoCE in QEMU, cocotbext-pcie
	tests/interop/rxe/run
	tests/interop/pcie/run

interop-smoke: setup ## A few transfers with Linux Soft-RoCE, under a minute
	tests/interop/rxe/run --smoke

report: setup ## Cells and LUT levels of every hardware block
	$(FERROCE) report

clean: ## Remove build products and simulation models; keeps the tools
	$(CARGO) clean
