# Shared by run.sh and scale.sh, which stand in the project's directory: where workers go and how they are built.

dir=$PWD/target/bench_peers
mkdir -p "$dir/workers"
flags="-O2 -Iinclude -Ibench_peers/workers"
log=$dir/build.log
: >"$log"

# worker NAME COMMAND...: builds one, or says that it could not.
worker() {
    name=$1
    shift
    rm -f "$dir/workers/$name"
    "$@" -o "$dir/workers/$name" >>"$log" 2>&1 || echo "bench-peers: no $name worker; see $log"
}

# Packages are installed if that can be done without asking; only `make lib` and the driver are needed.
for pc in bullet.pc ode.pc cmake; do
    scripts/setup.sh "$pc" >>"$log" 2>&1 || echo "bench-peers: $pc is not installed"
done

driver() { CARGO_TARGET_DIR=$dir ${CARGO:-cargo} build --release --quiet --manifest-path bench_peers/Cargo.toml "$@"; }

debian() { dpkg-query -W -f='${Package} ${Version}' "$1" 2>/dev/null || true; }
