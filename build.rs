//! Generates the C header from `src/ffi`. It is written to OUT_DIR, where a test compares it with the committed
//! `include/mlcp.h`; `MLCP_WRITE_HEADER=1` (or `make header`) rewrites the committed one.
//!
//! cbindgen writes all types, then all functions, in the order of the source files. `in_chapters` sorts them into
//! `CHAPTERS` and turns each enum into one of exactly 32 bits (MLCP_ENUM of `src/ffi/cbindgen.toml`).

use std::path::Path;

/// The header's chapters as a C programmer needs them: heading, and what stands in it by the beginning of its name. The
/// longest beginning decides the chapter, their order is the order within it, types before functions. A name that begins
/// with none of them fails the build.
const CHAPTERS: [(&str, &[&str]); 11] = [
    ("Version and errors", &["mlcp_version", "mlcp_status", "mlcp_last_error"]),
    ("Problem", &["mlcp_triangle", "mlcp_friction_mode", "mlcp_problem"]),
    ("Settings", &["mlcp_solver_kind", "mlcp_settings"]),
    (
        "Solve",
        &[
            "mlcp_callback",
            "mlcp_task",
            "mlcp_executor",
            "mlcp_solver_create",
            "mlcp_solver_destroy",
            "mlcp_solver_solve",
            "mlcp_solver",
            "mlcp_solver_get_settings",
        ],
    ),
    (
        "Report",
        &[
            "mlcp_outcome",
            "mlcp_report",
            "mlcp_solver_get_",
            "mlcp_iteration",
            "mlcp_solver_history_len",
            "mlcp_solver_get_history",
            "mlcp_reason",
            "mlcp_stage",
            "mlcp_solver_stages_len",
            "mlcp_solver_get_stage",
        ],
    ),
    (
        "Measures",
        &[
            "mlcp_measure",
            "mlcp_problem_measure",
            "mlcp_problem_contains",
            "mlcp_energy_error",
            "mlcp_duality_gap",
            "mlcp_fischer_burmeister_error",
            "mlcp_natural_error",
            "mlcp_merit_error",
            "mlcp_penalized_error",
        ],
    ),
    ("Friction cones", &["mlcp_problem_set_cones"]),
    (
        "Diagnosis and projection",
        &["mlcp_row_role", "mlcp_findings", "mlcp_problem_diagnose", "mlcp_diagnosis", "mlcp_projection"],
    ),
    (
        "Frames",
        &[
            "mlcp_bodies",
            "mlcp_constraints",
            "mlcp_contacts",
            "mlcp_contact_state",
            "mlcp_frame_errors",
            "mlcp_frame",
            "mlcp_spring_compliance",
        ],
    ),
    ("Recordings", &["mlcp_when_full", "mlcp_recorder", "mlcp_recorded_x", "mlcp_frame_solution", "mlcp_dataset"]),
    (
        "ALI3-P: mechanisms through time",
        &["mlcp_step_error", "mlcp_step_outcome", "mlcp_evaluate", "mlcp_model", "mlcp_ali3p"],
    ),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-env-changed=MLCP_WRITE_HEADER");
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let out = std::env::var("OUT_DIR").expect("set by cargo");
    let config = cbindgen::Config::from_file(Path::new(&root).join("src/ffi/cbindgen.toml")).expect("cbindgen.toml");
    let mut text = Vec::new();
    cbindgen::Builder::new()
        .with_crate(&root)
        .with_config(config)
        .generate()
        .expect("cbindgen could not read src/ffi")
        .write(&mut text);
    let header = in_chapters(&String::from_utf8(text).expect("cbindgen writes UTF-8"));
    std::fs::write(Path::new(&out).join("mlcp.h"), &header).expect("OUT_DIR can be written");
    if std::env::var_os("MLCP_WRITE_HEADER").is_some() {
        std::fs::write(Path::new(&root).join("include/mlcp.h"), &header).expect("include/mlcp.h can be written");
    }
}

/// A declaration with its comment.
struct Item {
    name: String,
    text: String,
    chapter: usize,
    place: usize,
    is_function: bool,
}

/// Sort the declarations of cbindgen's header into the chapters; what stands before the first one stays there.
fn in_chapters(generated: &str) -> String {
    let blocks: Vec<&str> = generated.split("\n\n").map(|b| b.trim_matches('\n')).filter(|b| !b.is_empty()).collect();
    let first = blocks.iter().position(|b| name_of(b).is_some()).expect("a declaration");
    let mut items: Vec<Item> = blocks[first..].iter().filter_map(|block| item(block)).collect();
    items.sort_by_key(|item| (item.chapter, item.is_function, item.place));

    let mut header = blocks[..first].join("\n\n");
    header.push_str("\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    let mut declared: Vec<&str> = Vec::new();
    for (chapter, (heading, _)) in CHAPTERS.iter().enumerate() {
        header.push_str(&format!("\n/* ---- {heading} ---- */\n"));
        for item in items.iter().filter(|item| item.chapter == chapter) {
            for later in items.iter().filter(|l| l.chapter > chapter && mentions(&item.text, &l.name)) {
                if !declared.contains(&later.name.as_str()) {
                    declared.push(&later.name);
                    let place = CHAPTERS[later.chapter].0;
                    header.push_str(&format!("\n// See \"{place}\".\ntypedef struct {0} {0};\n", later.name));
                }
            }
            let mut text = item.text.clone();
            if declared.contains(&item.name.as_str()) {
                text = text.replace(&format!("typedef struct {} {{", item.name), &format!("struct {} {{", item.name));
                text = text.replace(&format!("}} {};", item.name), "};");
            }
            header.push_str(&format!("\n{text}\n"));
        }
    }
    header.push_str("\n#ifdef __cplusplus\n} // extern \"C\"\n#endif\n\n#endif /* MLCP_H */\n");
    header
}

/// What a block of cbindgen's output declares, with its place; none for `extern "C"` and the like.
fn item(block: &str) -> Option<Item> {
    let name = name_of(block)?;
    let beginnings = CHAPTERS.iter().enumerate().flat_map(|(chapter, (_, beginnings))| {
        beginnings.iter().enumerate().map(move |(place, beginning)| (beginning.len(), chapter, place, *beginning))
    });
    let longest = beginnings.filter(|&(.., beginning)| name.starts_with(beginning)).max();
    let (_, chapter, place, _) = longest.unwrap_or_else(|| panic!("build.rs has no chapter for {name}"));
    // cbindgen writes `typedef struct { ... } name;`, whose name cannot be declared ahead.
    let mut text = block.replace("typedef struct {", &format!("typedef struct {name} {{"));
    if text.contains("typedef enum {") {
        text = text.replace("typedef enum {", &format!("MLCP_ENUM({name}) {{")).replace(&format!("}} {name};"), "};");
    }
    Some(Item { is_function: !code(block).starts_with("typedef"), name, text, chapter, place })
}

/// A block without its comments.
fn code(block: &str) -> String {
    block.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The name that a block declares: the last word of a typedef of a struct or enum, else the word before the first '('.
fn name_of(block: &str) -> Option<String> {
    let code = code(block);
    let before = if code.starts_with("typedef struct") || code.starts_with("typedef enum") {
        code.trim_end().strip_suffix(';')?
    } else if code.starts_with("typedef") {
        code.split_once(")(")?.0
    } else if code.starts_with(['#', '/', '}']) || code.is_empty() {
        return None;
    } else {
        code.split_once('(')?.0
    };
    let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    Some(word.to_string())
}

/// Does a declaration use a type, outside its comments?
fn mentions(text: &str, name: &str) -> bool {
    code(text).split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}
