#!/bin/sh
# Installs libmlcp: install.sh [PREFIX], default /usr/local. `make install` calls it; docs/install.md lists the files.
#   DESTDIR      put in front of every path, for packagers
#   LIBDIR       default PREFIX/lib
#   MLCP_BUILD   a folder that already holds libmlcp.a; default: build one
# Through cargo-c if it is there. Without it, on Linux, the same tree by hand: the shared library is then linked from the
# static one, because that is where a versioned soname can be given without building all crates twice.
set -eu

cd "$(dirname "$0")/.."
prefix=${1:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
destdir=${DESTDIR:-}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
abi=${version%.*} # until 1.0 a minor version may change the ABI

case "$prefix$libdir" in
    *[!/A-Za-z0-9._+-]*) echo "mlcp: PREFIX and LIBDIR may not contain blanks or special characters" >&2; exit 1 ;;
esac
case "$prefix,$libdir" in
    /*,/*) ;;
    *) echo "mlcp: PREFIX and LIBDIR must be absolute" >&2; exit 1 ;;
esac

if [ -z "${MLCP_BUILD:-}" ] && cargo cinstall --version >/dev/null 2>&1; then
    cargo cinstall --release --prefix="$prefix" --libdir="$libdir" --includedir="$prefix/include" ${destdir:+--destdir="$destdir"}
elif [ "$(uname -s)" = Linux ]; then
    build=${MLCP_BUILD:-${CARGO_TARGET_DIR:-target}/release}
    if [ -z "${MLCP_BUILD:-}" ]; then
        "${CARGO:-cargo}" rustc --release --lib --crate-type staticlib
    fi
    mkdir -p "$destdir$libdir/pkgconfig" "$destdir$prefix/include"
    install -m 644 include/*.h include/*.hpp "$destdir$prefix/include"
    install -m 644 "$build/libmlcp.a" "$destdir$libdir/libmlcp.a"

    native="-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc" # as rustc --print native-static-libs says
    exports=$(mktemp)
    echo "{ global: mlcp_*; local: *; };" > "$exports"
    ${CC:-cc} -shared -o "$destdir$libdir/libmlcp.so.$version" -Wl,-soname,"libmlcp.so.$abi" -Wl,--version-script,"$exports" \
        -Wl,--gc-sections -Wl,-z,relro,-z,now -Wl,--whole-archive "$build/libmlcp.a" -Wl,--no-whole-archive $native
    rm -f "$exports"
    ln -sf "libmlcp.so.$version" "$destdir$libdir/libmlcp.so.$abi"
    ln -sf "libmlcp.so.$version" "$destdir$libdir/libmlcp.so"

    cat > "$destdir$libdir/pkgconfig/mlcp.pc" <<END
prefix=$prefix
exec_prefix=\${prefix}
libdir=$libdir
includedir=\${prefix}/include

Name: mlcp
Description: Contact and friction solvers that know their error in joules
Version: $version
Libs: -L\${libdir} -lmlcp
Libs.private: $native
Cflags: -I\${includedir}
END
else
    echo "mlcp: on this system please install cargo-c first: cargo install cargo-c" >&2
    exit 1
fi

mkdir -p "$destdir$libdir/cmake/mlcp"
install -m 644 cmake/mlcpConfig.cmake "$destdir$libdir/cmake/mlcp"
sed "s/@VERSION@/$version/" cmake/mlcpConfigVersion.cmake > "$destdir$libdir/cmake/mlcp/mlcpConfigVersion.cmake"
echo "mlcp: installed $version in $destdir$prefix"
