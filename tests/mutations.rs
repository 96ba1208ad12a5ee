//! Files that were damaged, or made to do damage: no panic, no crash, and no more memory than the file's size explains.
//! An allocator counts what the whole process holds, so this file is a process of its own.
//!
//! 2,000 in the suite; the long run is `MLCP_MUTATIONS=200000 cargo test --release --test mutations -- --nocapture`.

mod common;

use common::frames::{random_frame, sliding_mass, stack};
use common::Random;
use mlcp::dataset::{Dataset, Fclib, Recorder, RecorderOptions, WhenFull};
use mlcp::multibody::{Formulation, Formulator, Frame};
use mlcp::Problem;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what is held, and the most that ever was.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder.join(name)
}

/// Small files of every kind: frames with solutions, problems, FCLIB local and global, and texts.
fn seeds() -> Vec<Vec<u8>> {
    let path = scratch("seed.h5");
    let options = RecorderOptions { when_full: WhenFull::Wait, ..RecorderOptions::default() };
    let recorder = Recorder::create(&path, &options).unwrap();
    let (mut formulator, mut problem) = (Formulator::new(), Problem::new());
    for frame in [random_frame(&mut Random::new(8), 4, 2, 3), stack(1.0), sliding_mass(0.2, 1.0, 0.5)] {
        let z = vec![0.1; Formulation::BOX.rows(&frame)];
        recorder.append_frame(&frame, Some((Formulation::BOX, &z)), None).unwrap();
        formulator.fill(&frame, Formulation::BOX, &mut problem).unwrap();
        recorder.append_problem("", &problem, Some(&z), None).unwrap();
        formulator.fill(&frame, "mixed:cone".parse().unwrap(), &mut problem).unwrap();
        recorder.append_problem("", &problem, None, None).unwrap();
    }
    drop(recorder);
    let mut seeds = vec![std::fs::read(&path).unwrap()];
    let frame = random_frame(&mut Random::new(3), 5, 0, 4);
    Fclib::from_frame(&frame, &mut formulator).unwrap().write(&path).unwrap();
    seeds.push(std::fs::read(&path).unwrap());
    let file = Dataset::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/engines.h5").as_ref()).unwrap();
    let fclib = Fclib::from_recorded(&file.problem(0).unwrap()).unwrap().0;
    fclib.write(&path).unwrap();
    seeds.push(std::fs::read(&path).unwrap());
    seeds.extend(TEXTS.map(|text| text.as_bytes().to_vec()));
    seeds
}

/// Siconos' texts: a local problem in blocks, a global one listed.
const TEXTS: [&str; 2] = [
    "3 1 1 3 3 4 2 2 2 3 2 3 3 4 0 2 4 0 1 0 1 0 4 2 1 5 1 0 0 2 0 3 3 6 -1.5 0.25 3e-1 0.7 0",
    "2 1 2 2 2 1\nCSparse\ntriplet: 2-by-2, nzmax: 2 nnz: 2\n0 0 : 2 1 1 : 4\n2 2 2 2\nCSparse\n2-by-2, nzmax: 2 nnz: 2\n\
     col 0 : locations 0 to 0\n0 : 1\ncol 1 : locations 1 to 1\n1 : 1\n2 8 -1 0.5 0.25",
];

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len());
    match random.below(7) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at] = random.next() as u8,
        3 => {
            let end = (at + random.below(64)).min(bytes.len());
            bytes[at..end].fill(0);
        }
        4 => {
            // Eight bytes that are large, small or all ones: sizes, addresses, doubles.
            let value = random.pick(&[u64::MAX, 1 << 40, 1 << 31, 1 << 62, 0x7ff0_0000_0000_0000, 96, 0]);
            let end = (at + 8).min(bytes.len());
            bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
        }
        5 => {
            let from = random.below(bytes.len());
            let len = random.below(64).min(bytes.len() - from.max(at));
            bytes.copy_within(from..from + len, at);
        }
        _ => {
            let len = random.below(200);
            bytes.splice(at..at, (0..len).map(|k| k as u8));
        }
    }
}

/// Make the checksums right again, so that what is behind them is reached.
fn reseal(bytes: &mut [u8]) {
    for (mark, prefix) in [(b"OHDR", 10), (b"OCHK", 4)] {
        for at in 0..bytes.len().saturating_sub(16) {
            if &bytes[at..at + 4] == mark {
                let len = match prefix {
                    10 => u32::from_le_bytes(bytes[at + 6..at + 10].try_into().unwrap()) as usize + 10,
                    _ => 4092,
                };
                if at + len + 4 <= bytes.len() && len < 1 << 20 {
                    let sum = common::lookup3::hash(&bytes[at..at + len]);
                    bytes[at + len..at + len + 4].copy_from_slice(&sum.to_le_bytes());
                }
            }
        }
    }
}

/// Read everything that a file says it has.
fn read_all(path: &Path) -> usize {
    let Ok(file) = Dataset::open(path) else { return 0 };
    let (mut frame, mut problem, mut fine) = (Frame::new(), Problem::new(), 0);
    // A mutated file may claim many members; each must cost what it holds.
    for k in 0..file.frames().min(1000) {
        fine += usize::from(file.frame(k, &mut frame).is_ok());
        fine += usize::from(file.frame_solution(k).is_ok());
    }
    for k in 0..file.problems().min(1000) {
        if let Ok(recorded) = file.problem(k) {
            fine += usize::from(recorded.fill(&mut problem, None, recorded.friction()).is_ok());
        }
    }
    fine
}

#[test]
fn damaged_files_do_no_damage() {
    let count = std::env::var("MLCP_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let seeds = seeds();
    let path = scratch("mutated.h5");
    for seed in &seeds {
        std::fs::write(&path, seed).unwrap();
        assert!(read_all(&path) > 0);
    }
    let largest = seeds.iter().map(Vec::len).max().unwrap();
    let base = HELD.load(Ordering::Relaxed);
    MOST.store(base, Ordering::Relaxed);
    let (mut opened, mut whole) = (0usize, 0usize);
    for k in 0..count {
        let mut random = Random::new(k as u64);
        let mut bytes = seeds[k % seeds.len()].clone();
        for _ in 0..=random.below(3) {
            if !bytes.is_empty() {
                mutate(&mut random, &mut bytes);
            }
        }
        if random.chance(0.7) {
            reseal(&mut bytes);
        }
        std::fs::write(&path, &bytes).unwrap();
        let found = std::panic::catch_unwind(|| read_all(&path));
        let fine = found.unwrap_or_else(|_| panic!("mutation {k} panicked; it is in {}", path.display()));
        opened += usize::from(fine > 0);
        whole += fine;
    }
    let most = MOST.load(Ordering::Relaxed) - base;
    println!("{count} mutated files: {opened} gave something, {whole} members read, at most {most} bytes held");
    // Several copies of the file, its numbers as f64 and i64, and a condensed problem.
    assert!(most < 64 * largest + (32 << 20), "{most} bytes for files of {largest}");
    assert!(opened > count / 10, "the mutations reach nothing");
}
