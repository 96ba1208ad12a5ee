#!/bin/sh
# Installs what is missing of the tools named by the caller: setup.sh COMMAND... ; NAME.pc is a pkg-config module.
# As root or through sudo it uses apt; otherwise it prints the one line to type and fails.
set -eu

packages=""
for tool in "$@"; do
    case "$tool" in
        *.pc) pkg-config --exists "${tool%.pc}" 2>/dev/null && continue ;;
        *) command -v "$tool" >/dev/null 2>&1 && continue ;;
    esac
    case "$tool" in
        ode.pc) package=libode-dev ;;
        bullet.pc) package=libbullet-dev ;;
        cc|gcc) package="gcc libc6-dev" ;;
        c++|g++) package=g++ ;;
        nm) package=binutils ;;
        dh) package=debhelper ;;
        dpkg-buildpackage) package=dpkg-dev ;;
        h5dump) package=hdf5-tools ;;
        cargo)
            echo "mlcp: no Rust toolchain found. Install rustup (https://rustup.rs) or Debian's 'rustup' package, then run again." >&2
            exit 1 ;;
        *) package=$tool ;;
    esac
    packages="$packages $package"
done
[ -n "$packages" ] || exit 0

install="apt-get install -y --no-install-recommends$packages"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "mlcp: please install:$packages" >&2
    exit 1
elif [ "$(id -u)" = 0 ]; then
    echo "mlcp: installing$packages"
    apt-get update -qq && $install
elif command -v sudo >/dev/null 2>&1 && sudo -v; then
    echo "mlcp: installing$packages (through sudo)"
    sudo apt-get update -qq && sudo $install
else
    echo "mlcp: please run as root:  $install" >&2
    exit 1
fi
