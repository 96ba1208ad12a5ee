//! Generates the C header from `src/ffi`. It is written to OUT_DIR, where a test compares it with the committed
//! `include/mlcp.h`; `MLCP_WRITE_HEADER=1` (or `make header`) rewrites the committed one.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=src/ffi");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-env-changed=MLCP_WRITE_HEADER");
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let out = std::env::var("OUT_DIR").expect("set by cargo");
    let config = cbindgen::Config::from_file(Path::new(&root).join("src/ffi/cbindgen.toml")).expect("cbindgen.toml");
    let header = cbindgen::Builder::new()
        .with_crate(&root)
        .with_config(config)
        .generate()
        .expect("cbindgen could not read src/ffi");
    header.write_to_file(Path::new(&out).join("mlcp.h"));
    if std::env::var_os("MLCP_WRITE_HEADER").is_some() {
        header.write_to_file(Path::new(&root).join("include/mlcp.h"));
    }
}
