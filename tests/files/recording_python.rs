//! The Python lines of docs/recording.md, on a recording, where Python has h5py and matplotlib.

use crate::common::frames::sliding_mass;
use mlcp::dataset::{Recorder, RecorderOptions, WhenFull};
use mlcp::multibody::Formulation;
use std::path::Path;
use std::process::Command;

#[test]
fn python_plots_a_recording() {
    // Another interpreter, such as that of a virtual environment, is named by MLCP_PYTHON.
    let python = std::env::var("MLCP_PYTHON").unwrap_or_else(|_| "python3".to_string());
    let has = Command::new(&python).args(["-c", "import h5py, matplotlib"]).output();
    if !has.is_ok_and(|o| o.status.success()) {
        println!("{python} has no h5py and matplotlib: not run");
        return;
    }
    let text = include_str!("../../docs/recording.md");
    let code = text.split("```python\n").nth(1).and_then(|t| t.split("```").next()).expect("a Python block");
    assert!(code.lines().count() <= 17, "short enough to read");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    std::fs::create_dir_all(&folder).unwrap();
    let (file, picture) = (folder.join("run.h5"), folder.join("run.png"));
    let _ = std::fs::remove_file(&picture);
    let options = RecorderOptions { when_full: WhenFull::Wait, ..RecorderOptions::default() };
    let recorder = Recorder::create(&file, &options).unwrap();
    for k in 0..30 {
        let frame = sliding_mass(0.1 * f64::from(k), 1.0, 0.5);
        recorder.append_frame(&frame, Some((Formulation::BOX, &[0.1, 0.0, 0.0])), None).unwrap();
    }
    drop(recorder);
    let output = Command::new(&python).arg("-c").arg(code).arg(&file).arg(&picture).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
}
