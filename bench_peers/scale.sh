#!/bin/sh
# Time and memory per row of Gauss-Seidel sweeps by size, beside Bullet's and ODE's, into docs/scale.md. See Makefile.
# Option: ROWS=100000 leaves larger problems out. An engine that is missing is named and left out.
set -eu

cd "$(dirname "$0")/.."
. bench_peers/workers.sh
# The plain read is to be as fast as the compiler can make it.
cxx="c++ $flags -O3 -std=c++17"
driver
$cxx bench_peers/workers/scale_libmlcp.cpp -o "$dir/workers/scale_libmlcp" \
    -Ltarget/release -Wl,-rpath,"$PWD/target/release" -lmlcp
worker scale_ode $cxx bench_peers/workers/scale_ode.cpp $(pkg-config --cflags --libs ode 2>/dev/null)
worker scale_bullet $cxx -DBT_USE_DOUBLE_PRECISION bench_peers/workers/scale_bullet.cpp \
    $(pkg-config --cflags bullet 2>/dev/null) -lBulletDynamics-float64 -lBulletCollision-float64 -lLinearMath-float64
PEER_VERSIONS="$(debian libode-dev), $(debian libbullet-dev)"
export PEER_VERSIONS
mkdir -p "${DOCS:-docs}"
"$dir/release/bench-peers" scale "$dir" "${DOCS:-docs}"
