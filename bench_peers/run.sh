#!/bin/sh
# Builds a worker for every peer that can be had, runs the race on one core, writes docs/performance.md. See Makefile.
# Options: PROBLEMS='*wall* ode_*' (globs), CAP=3 (seconds per problem and solver), CORE=0. A peer that is missing is named
# and left out; nothing here fails because of it.
set -eu

cd "$(dirname "$0")/.."
. bench_peers/workers.sh
if [ ! -e /usr/include/siconos/numerics/SiconosNumerics.h ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -y --no-install-recommends libsiconos-numerics-dev >>"$log" 2>&1 || true
fi

driver --features clarabel,osqp 2>>"$log" || driver --features clarabel 2>>"$log" || driver
cc $flags -std=gnu99 bench_peers/workers/libmlcp.c -o "$dir/workers/libmlcp" \
    -Ltarget/release -Wl,-rpath,"$PWD/target/release" -lmlcp -lm
worker ode c++ $flags bench_peers/workers/ode.cpp $(pkg-config --cflags --libs ode 2>/dev/null)
worker bullet c++ $flags -DBT_USE_DOUBLE_PRECISION bench_peers/workers/bullet.cpp $(pkg-config --cflags bullet 2>/dev/null) \
    -lBulletDynamics-float64 -lBulletCollision-float64 -lLinearMath-float64
# Recorders of consecutive steps, for the warm starts.
worker steps_ode c++ $flags -std=c++17 bench_peers/workers/steps_ode.cpp $(pkg-config --cflags --libs ode 2>/dev/null) \
    -Ltarget/release -Wl,-rpath,"$PWD/target/release" -lmlcp
worker steps_bullet c++ $flags -std=c++17 -DBT_USE_DOUBLE_PRECISION bench_peers/workers/steps_bullet.cpp \
    $(pkg-config --cflags bullet 2>/dev/null) -lBulletDynamics-float64 -lBulletCollision-float64 -lLinearMath-float64 \
    -Ltarget/release -Wl,-rpath,"$PWD/target/release" -lmlcp
worker siconos cc $flags -std=gnu99 bench_peers/workers/siconos.c \
    -I/usr/include/siconos -I/usr/include/siconos/numerics -lsiconos_numerics -lm

# A virtual environment that can be thrown away: rm -r target/bench_peers/venv.
if [ ! -x "$dir/venv/bin/python" ]; then
    python3 -m venv "$dir/venv" >>"$log" 2>&1 || rm -rf "$dir/venv"
fi
for wheel in numpy scipy piqp proxsuite daqp; do
    [ -x "$dir/venv/bin/python" ] || break
    "$dir/venv/bin/python" -c "import $wheel" 2>/dev/null ||
        "$dir/venv/bin/python" -m pip install --quiet "$wheel" >>"$log" 2>&1 || echo "bench-peers: no $wheel from PyPI"
done

locked() { sed -n "/^name = \"$1\"/{n;s/version = \"\(.*\)\"/$1 \1/p}" bench_peers/Cargo.lock | head -n 1; }
wheels=$("$dir/venv/bin/python" -m pip list --format=freeze 2>/dev/null | sed -n 's/^\(piqp\|proxsuite\|daqp\)==/\1 /p' || true)
PEER_VERSIONS=$( (debian libode-dev; echo; debian libbullet-dev; echo; debian libsiconos-numerics-dev; echo
    locked clarabel; locked osqp; echo "$wheels") | grep . | paste -sd, | sed 's/,/, /g')
export PEER_VERSIONS
mkdir -p "${DOCS:-docs}"
"$dir/release/bench-peers" race "$dir" tests/data/engines.h5 "${DOCS:-docs}"
