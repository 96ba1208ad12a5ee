# Thin on purpose: every line also runs by hand.

CARGO  ?= cargo
CC     ?= cc
CXX    ?= c++
CFLAGS ?= -O2
STRICT  = -Wall -Wextra -Wpedantic -Werror
LIB     = target/release
LINK    = -Iinclude -L$(LIB) -Wl,-rpath,$(abspath $(LIB)) -lmlcp -lm
BIN     = target/examples
PREFIX ?= /usr/local

.PHONY: demo check test golden bench bench-recording bench-peers bench-scale examples engines bullet ode lib install header docs reproduction soak clean help

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 17

demo: examples ## build the library and the C examples, then run the first two
	@echo; echo "== 01_rod: one contact problem, three readings of its error =="
	@$(BIN)/01_rod
	@echo; echo "== 02_game_loop: 600 steps at 60 Hz =="
	@$(BIN)/02_game_loop
	@echo; echo "The other examples are built: $(BIN)/03_callback, 04_measure_your_solver, 05_cpp, 06_cones, 07_record, 08_replay, fourbar, pendulum_ali3p, puck_ali3p."

# What needs no more than Rust and its linker: no engines, no second compiler, no valgrind. The thousands of generated problems
# (planted) take as long as all the rest; `make test` and `make soak` have them.
check: ## the tests that need nothing installed: about a minute on two cores once built
	$(CARGO) test --no-fail-fast -p mlcp -p mlcp-scenes --lib --test linalg --test solvers --test mechanics --test measures \
	    --test files --test c_abi --test allocations --test mutations --test architecture -- \
	    --skip c_examples:: --skip header:: --skip readme:: --skip planted::

test: ## everything: set-up, unit, property, corpus and misuse tests, C examples with gcc and clang, valgrind: about ten minutes on two cores
	@scripts/setup.sh cargo gcc g++ clang valgrind nm pkg-config cmake dpkg-buildpackage dh bullet.pc ode.pc h5dump
	$(CARGO) test --workspace

# What `make soak` tries; SEED=7 tells all about one problem of one family; FLAGS takes any other option of `mlcp-lab soak`.
FAMILIES ?= all
FORMS    ?= all
STARTS   ?= all
SOLVER   ?= auto
FIRST    ?= 0
THREADS  ?= $(shell nproc 2>/dev/null || echo 1)

soak: ## generated problems whose solution is known, by auto, from good and bad starts; FAMILIES=door,wall PROBLEMS=10000 FIRST=5000
	@scripts/setup.sh cargo
	$(CARGO) run --release -p mlcp-lab -- soak --families $(FAMILIES) --forms $(FORMS) --starts $(STARTS) --solver $(SOLVER) \
	    $(if $(SEED),--seed $(SEED),--problems $(or $(PROBLEMS),1000) --first $(FIRST)) --threads $(THREADS) $(FLAGS)

golden: ## compare every bit of the answers on recorded problems with those of earlier builds, under a minute after building; WRITE=1 writes them anew
	@scripts/setup.sh cargo
	$(CARGO) run --release -p mlcp-lab -- golden $(if $(WRITE),--write,--check) tests/data/golden.tsv

bench: ## criterion benchmarks, and what monitoring costs
	@scripts/setup.sh cargo
	$(CARGO) bench

bench-recording: examples ## what recording 5,000 frames of 100 bodies adds to a game loop, and that they read back bit for bit
	@$(BIN)/07_record_cost $(BIN)/recording.h5
	@rm -f $(BIN)/recording.h5

bench-peers: lib ## libmlcp beside other solvers on one core, into docs/performance.md; PROBLEMS='*wall*' CAP=3 CORE=0
	@CARGO="$(CARGO)" bench_peers/run.sh

bench-scale: lib ## sweeps from 1e3 to 1e6 rows beside Bullet's and ODE's, into docs/scale.md; ROWS=100000
	@CARGO="$(CARGO)" bench_peers/scale.sh

lib: ## the shared library, optimised across crates
	@scripts/setup.sh cargo
	$(CARGO) rustc --release --lib --crate-type cdylib

examples: lib ## the C and C++ examples
	@scripts/setup.sh cc c++
	@mkdir -p $(BIN)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/01_rod.c                 -o $(BIN)/01_rod                 $(LINK)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/02_game_loop.c           -o $(BIN)/02_game_loop           $(LINK)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/03_callback.c            -o $(BIN)/03_callback            $(LINK)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/04_measure_your_solver.c -o $(BIN)/04_measure_your_solver -Iinclude -lm
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/fourbar.c                -o $(BIN)/fourbar                $(LINK)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/pendulum_ali3p.c         -o $(BIN)/pendulum_ali3p         $(LINK)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/puck_ali3p.c             -o $(BIN)/puck_ali3p             $(LINK)
	$(CXX) -std=c++17 $(CFLAGS) $(STRICT) c_examples/05_cpp.cpp               -o $(BIN)/05_cpp                 $(LINK)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/06_cones.c               -o $(BIN)/06_cones               $(LINK)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/07_record.c              -o $(BIN)/07_record              $(LINK)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/07_record_cost.c         -o $(BIN)/07_record_cost         $(LINK)
	$(CC)  -std=c99   $(CFLAGS) $(STRICT) c_examples/08_replay.c              -o $(BIN)/08_replay              $(LINK)

engines: bullet ode ## the examples in Bullet and in ODE

ode: lib ## the examples in ODE, whose package is installed: tables, and pictures in target/examples
	@scripts/setup.sh c++ pkg-config ode.pc
	@mkdir -p $(BIN)
	for e in door wall chain buggy; do \
	    $(CXX) -std=c++11 $(CFLAGS) c_examples/ode_$$e.cpp -o $(BIN)/ode_$$e $(LINK) $$(pkg-config --cflags --libs ode) && \
	    $(BIN)/ode_$$e $(BIN)/ode_$$e.svg || exit 1; done
	$(CXX) -std=c++11 $(CFLAGS) c_examples/ode_hand.cpp -o $(BIN)/ode_hand $(LINK) $$(pkg-config --cflags --libs ode) && \
	    $(BIN)/ode_hand $(BIN)/ode_hand.h5
	$(CXX) -std=c++11 $(CFLAGS) -shared -fPIC c_examples/ode_preload.cpp -o $(BIN)/ode_preload.so $(LINK) -ldl

bullet: lib ## the examples in Bullet, whose package is installed: tables, and pictures in target/examples
	@scripts/setup.sh c++ pkg-config bullet.pc
	@mkdir -p $(BIN)
	$(CXX) -std=c++11 $(CFLAGS) c_examples/bullet_wall.cpp    -o $(BIN)/bullet_wall    $(LINK) $$(pkg-config --cflags --libs bullet)
	$(CXX) -std=c++11 $(CFLAGS) c_examples/bullet_ragdoll.cpp -o $(BIN)/bullet_ragdoll $(LINK) $$(pkg-config --cflags --libs bullet)
	@$(BIN)/bullet_wall $(BIN)/bullet_wall.svg
	@$(BIN)/bullet_ragdoll $(BIN)/bullet_ragdoll.svg

install: ## into PREFIX (/usr/local), with DESTDIR and LIBDIR for packagers; see docs/install.md
	@CARGO="$(CARGO)" CC="$(CC)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" scripts/install.sh "$(PREFIX)"

header: ## write include/mlcp.h anew from src/ffi
	MLCP_WRITE_HEADER=1 $(CARGO) build

docs: ## measure every solver and write the table of docs/solvers.md
	@scripts/setup.sh cargo
	scripts/solver_table.sh

reproduction: ## run every experiment of the papers and write docs/reproduction.md with its figures
	@scripts/setup.sh cargo c++ pkg-config ode.pc
	$(CARGO) run --release -p mlcp-lab -- paper all --out target/paper --docs docs

clean: ## remove what was built
	$(CARGO) clean
