// SPDX-License-Identifier: Apache-2.0
//! Finds libtracesmith: in TRACESMITH_LIB_DIR, from its sources (feature `bundled`), or by pkg-config. Documents (DOCS_RS) and
//! systems other than Linux need none.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for name in ["TRACESMITH_LIB_DIR", "TRACESMITH_SOURCE_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if env::var_os("DOCS_RS").is_some() || system != "linux" {
        return;
    }
    if let Some(folder) = env::var_os("TRACESMITH_LIB_DIR") {
        let folder = PathBuf::from(folder);
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=dylib=tracesmith");
        println!("cargo:rerun-if-changed={}", folder.join("libtracesmith.so").display());
    } else if env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        bundled();
    } else {
        installed();
    }
}

/// Prints what pkg-config says of a library; false where it does not know it.
fn pkg_config(name: &str) -> bool {
    let command = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let said = match Command::new(command).args(["--libs", name]).output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        _ => return false,
    };
    for word in said.split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        }
    }
    true
}

fn installed() {
    if !pkg_config("tracesmith") {
        // `cargo doc` and `cargo check` do not link.
        println!(
            "cargo:warning=pkg-config does not know tracesmith: install it, set PKG_CONFIG_PATH or TRACESMITH_LIB_DIR, \
             or use the feature bundled"
        );
        println!("cargo:rustc-link-lib=dylib=tracesmith");
    }
}

/// The C sources: TRACESMITH_SOURCE_DIR, those packed into the crate, or the checkout that the crate is in.
fn sources() -> PathBuf {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let given = env::var_os("TRACESMITH_SOURCE_DIR").map(PathBuf::from);
    let places = given.into_iter().chain([here.join("csrc"), here.join("../../..")]);
    let is_tree = |place: &PathBuf| place.join("include/tracesmith/tracesmith.h").is_file();
    places.into_iter().find(is_tree).expect("bundled needs the C sources of TraceSmith: set TRACESMITH_SOURCE_DIR")
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => (),
        Ok(status) => panic!("{command:?}: {status}"),
        Err(error) => panic!("{command:?}: {error} (bundled needs CMake and a C compiler)"),
    }
}

fn bundled() {
    let tree = sources();
    let build = Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("build");
    run(Command::new("cmake").arg("-S").arg(&tree).arg("-B").arg(&build).args([
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
        "-DTRACESMITH_BUILD_CLI=OFF",
        "-DTRACESMITH_BUILD_TESTS=OFF",
        "-DTRACESMITH_BUILD_BENCH=OFF",
        "-DTRACESMITH_BUILD_EXAMPLES=OFF",
        "-DTRACESMITH_ENABLE_OTF2=OFF",
    ]));
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "2".into());
    run(Command::new("cmake").arg("--build").arg(&build).args(["--target", "tracesmith_core", "-j", &jobs]));
    println!("cargo:rustc-link-search=native={}", build.join("lib").display());
    println!("cargo:rustc-link-lib=static=tracesmith_core");
    for (module, library) in [
        ("libzstd", "zstd"),
        ("zlib", "z"),
        ("sqlite3", "sqlite3"),
        ("expat", "expat"),
        ("libdw", "dw"),
        ("liblzma", "lzma"),
        ("iberty", "iberty"),
    ] {
        if !pkg_config(module) {
            println!("cargo:rustc-link-lib={library}");
        }
    }
    println!("cargo:rerun-if-changed={}", tree.join("src").display());
    println!("cargo:rerun-if-changed={}", tree.join("include").display());
}
