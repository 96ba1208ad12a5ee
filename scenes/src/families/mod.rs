//! Families of problems, one file each.

mod chain;
mod dependent;
mod door;
mod duplicates;
mod joint_contact;
mod opposed;
mod pile;
mod redundant;
mod stack;
mod two_rows;
mod wall;

use crate::planted::{Draft, Planted};
use crate::random::Random;

/// A named generator.
#[derive(Clone, Copy)]
pub struct Family {
    /// The name that tools print and read.
    pub name: &'static str,
    /// One sentence for a list.
    pub about: &'static str,
    /// The problem of a seed.
    pub make: fn(u64) -> Planted,
    /// Does its friction follow the impulses, so that a solution is harder to find than a minimum?
    pub is_coupled: bool,
    /// Are problems so large that fewer are tried?
    pub is_large: bool,
}

const fn small(name: &'static str, about: &'static str, make: fn(u64) -> Planted) -> Family {
    Family { name, about, make, is_coupled: false, is_large: false }
}

const fn coupled(name: &'static str, about: &'static str, make: fn(u64) -> Planted) -> Family {
    Family { name, about, make, is_coupled: true, is_large: true }
}

/// Every family.
pub const FAMILIES: &[Family] = &[
    small("joint-contact", "a body on a ball joint with one to three speculative contacts", joint_contact::make),
    small("door", "1 to 3 bodies on 1 to 3 hinges each, limits, motors, contacts with gaps", door::with_gaps),
    small("door-touching", "the same doors with every gap closed", door::touching),
    small("two-rows", "two rows g and c g, one free, one that pushes", two_rows::real),
    small("two-rows-integer", "the same with small whole numbers", two_rows::integer),
    small("redundant", "random semidefinite A, free, boxed and one-sided rows", redundant::real),
    small("redundant-integer", "the same of rows of small whole numbers", redundant::integer),
    small("opposed", "contacts J and -J that pinch a body", opposed::make),
    small("duplicates", "rows repeated 1, -1, 2 and 1e-3 times", duplicates::make),
    small("dependent", "rows that are 1e-4 to 1e-9 apart", dependent::make),
    small("chain", "chains of bodies on redundant hinges, with contacts", chain::make),
    coupled("stack", "boxes on each other, coupled friction, mass ratios to 1e6", stack::coupled),
    coupled("wall", "brick walls, coupled friction", wall::coupled),
    coupled("pile", "bodies with three contacts each, random normals, coupled friction", pile::coupled),
];

impl Family {
    /// The family of this name.
    pub fn named(name: &str) -> Option<Family> {
        FAMILIES.iter().copied().find(|f| f.name == name)
    }
}

/// What any problem may look like as well: rows in another order, in half of the cases; rows turned round, in a quarter.
fn varied(draft: Draft, random: &mut Random) -> Draft {
    let mut draft = draft;
    if random.chance(0.25) {
        let n = draft.lo.len();
        let is_normal = |i: usize| draft.findex.contains(&(i as i32));
        let signs: Vec<f64> = (0..n).map(|i| if !is_normal(i) && random.chance(0.5) { -1.0 } else { 1.0 }).collect();
        draft = draft.scaled(&signs);
    }
    if random.chance(0.5) {
        draft = draft.shuffled(random);
    }
    draft
}
