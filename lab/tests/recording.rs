//! Record a scene, look at it, replay it in other formulations, convert it: as a user would, one after another.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ENGINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/engines.h5");

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a temporary folder");
    path
}

fn lab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mlcp-lab")).args(args).output().expect("mlcp-lab runs")
}

#[track_caller]
fn says(args: &[&str]) -> String {
    let output = lab(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[track_caller]
fn refused(args: &[&str], words: &[&str]) {
    let output = lab(args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    for word in words {
        assert!(said.contains(word), "no '{word}' in: {said}");
    }
}

#[test]
fn record_info_replay_convert() {
    let here = folder("recording");
    let path = |name: &str| here.join(name).to_str().expect("UTF-8").to_string();
    let (file, report) = (path("spheres.h5"), path("report"));
    assert!(says(&["record", "spheres", "--out", &file, "--steps", "60"]).contains("60 steps"));
    let text = says(&["info", &file]);
    for word in [
        "60 frames, 0.000 s to 0.500 s",
        "bodies",
        "15      15      15",
        "solved by bpp as box: 60",
        "energy error [J]",
    ] {
        assert!(text.contains(word), "no '{word}' in\n{text}");
    }
    assert!(text.contains('▁'), "{text}");

    let formulations = "box,polyhedral:4,cone,mixed";
    let solvers = "ipm,lemke,alart-curnier,minmap-newton";
    let args = ["replay", &file, "--every", "12", "--formulation", formulations, "--solver", solvers, "--repeats", "1"];
    let text = says(&[&args[..], &["--report", &report]].concat());
    assert_eq!(text.lines().filter(|l| l.starts_with("frame0000")).count(), 5 * 4 * 4, "{text}");
    let csv = std::fs::read_to_string(here.join("report/report.csv")).expect("a table");
    let rows: Vec<Vec<&str>> = csv.lines().map(|l| l.split(',').collect()).collect();
    assert!(rows.len() == 81 && rows.iter().all(|r| r.len() == 15), "{csv}");
    // The exact cone, solved, leaves less friction error than the box and the diamond.
    let friction = |formulation: &str, solver: &str| {
        let wanted = format!("\"{formulation}\"");
        let mine = rows.iter().filter(|r| r[2] == wanted && r[4] == solver && r[1] == "48");
        mine.map(|r| r[12].parse::<f64>().expect("a number")).next().expect("a row")
    };
    let (cone, square) = (friction("cone", "alart-curnier"), friction("box", "ipm"));
    assert!(cone < 1e-2 * square, "{cone} {square}");
    let page = std::fs::read_to_string(here.join("report/report.html")).expect("a page");
    assert!(page.contains("<svg") && !page.contains("src=") && !page.contains("href="), "self-contained");
    for picture in ["box_energy_error_J.svg", "box_microseconds.svg", "frames_friction_error_J.svg"] {
        assert!(std::fs::read_to_string(here.join("report").join(picture)).expect(picture).ends_with("</svg>\n"));
    }

    // To FCLIB, which the same commands read, with exact cones.
    assert!(says(&["convert", &file, &path("fclib"), "--to", "fclib", "--every", "20"])
        .contains("3 FCLIB problems, 0 refused"));
    let fclib = path("fclib/frame00000040.hdf5");
    assert!(says(&["info", &fclib]).contains("global friction problem in 3D"));
    assert!(says(&["replay", &fclib, "--solver", "alart-curnier"]).contains("1/1"));
    // And to problems.
    let problems = path("problems.h5");
    assert!(says(&["convert", &file, &problems, "--to", "problems", "--every", "30", "--formulation", "cone"])
        .contains("2 problems"));
    assert!(says(&["replay", &problems, "--solver", "alart-curnier"]).contains("2/2"));
}

#[test]
fn other_scenes_and_problems() {
    let here = folder("scenes");
    let path = |name: &str| here.join(name).to_str().expect("UTF-8").to_string();
    says(&[
        "record",
        "chain",
        "--out",
        &path("chain.h5"),
        "--steps",
        "40",
        "--formulation",
        "mixed:polyhedral:4",
        "--solver",
        "lemke",
    ]);
    let text = says(&["info", &path("chain.h5")]);
    assert!(
        text.contains("solved by lemke as mixed:polyhedral:4: 40") && text.contains("14      14      14"),
        "{text}"
    );
    // Recorded problems with other cones.
    let small = ["replay", ENGINES, "--problem", "bullet_box1_s003*", "--repeats", "1"];
    let text = says(&[&small[..], &["--formulation", "polyhedral:8,cone", "--solver", "lemke,alart-curnier"]].concat());
    assert!(text.contains("[polyhedral:8]") && text.contains("[cone]") && text.contains("unsupported"), "{text}");
    let text = says(&["convert", ENGINES, &path("all"), "--to", "fclib", "--problem", "ode_pile*"]);
    assert!(text.contains("6 FCLIB problems, 0 refused"), "{text}");

    refused(&["info", &path("nothing.h5")], &["nothing.h5"]);
    refused(&["record", "spheres", "--out", &path("no/x.h5")], &["x.h5", "cannot be written"]);
    refused(&["record", "spheres", "--out", &path("x.h5"), "--formulation", "cube"], &["cube"]);
    refused(&["record", "spheres", "--out", &path("x.h5"), "--solver", "gauss"], &["gauss"]);
    refused(&["replay", ENGINES, "--formulation", "mixed"], &["frames"]);
    refused(&["replay", ENGINES, "--formulation", "cube"], &["--formulation", "cube"]);
    refused(
        &["convert", ENGINES, &path("y.h5"), "--to", "fclib", "--problem", "ode_chain5_motor_m100_s010*"],
        &["bounds"],
    );
}
