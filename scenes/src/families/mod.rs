//! Families of problems, one file each.

mod bounce;
mod chain;
mod contacts;
mod contradictory;
mod conveyor;
mod definite;
mod dependent;
mod door;
mod duplicates;
mod fixed;
mod gate;
mod general;
mod islands;
mod joint_contact;
mod mass_ratio;
mod opposed;
mod pile;
mod redundant;
mod ring;
mod stack;
mod two_rows;
mod units;
mod wall;
mod zero_rows;

pub use door::add_door;

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

const fn large(name: &'static str, about: &'static str, make: fn(u64) -> Planted) -> Family {
    Family { name, about, make, is_coupled: false, is_large: true }
}

const fn coupled(name: &'static str, about: &'static str, make: fn(u64) -> Planted) -> Family {
    Family { name, about, make, is_coupled: true, is_large: true }
}

/// Every family.
#[rustfmt::skip]
pub const FAMILIES: &[Family] = &[
    small("joint-contact", "a body on a ball joint with one to three speculative contacts", joint_contact::make),
    small("door", "1 to 3 bodies on 1 to 3 hinges each, limits, motors, contacts with gaps", door::with_gaps),
    small("door-touching", "doors with every gap closed", door::touching),
    small("two-rows", "two to four rows along one direction, free, one-sided and boxed", two_rows::real),
    small("two-rows-integer", "two to four rows of small whole numbers along one direction", two_rows::integer),
    small("redundant", "random semidefinite A, free, boxed and one-sided rows", redundant::real),
    small("redundant-integer", "semidefinite A of rows of small whole numbers", redundant::integer),
    small("opposed", "contacts J and -J that pinch a body", opposed::make),
    small("duplicates", "rows repeated 1, -1, 2 and 1e-3 times", duplicates::make),
    small("dependent", "rows that are 1e-4 to 1e-9 apart", dependent::make),
    small("misaligned", "joints and contacts that are 1e-4 to 1e-9 m off each other", dependent::mechanism),
    small("zero-rows", "rows of zeros among others", zero_rows::make),
    small("chain", "chains of bodies on redundant hinges, with contacts", chain::make),
    small("ring", "closed loops of hinges with parallel axes", ring::make),
    small("mass-ratio", "any rows between bodies of 1 to 1e6 kg", mass_ratio::make),
    small("bounce", "impacts on more corners than needed", bounce::make),
    small("units", "other families in rows and units 1e-6 to 1e6 times as large", units::make),
    small("conveyor", "belts and motors with narrow boxes", conveyor::make),
    small("fixed", "hinges and contacts, one impulse in four given", fixed::make),
    small("definite", "definite A, condition numbers to 1e12", definite::make),
    small("positive", "A with a positive symmetric part, not symmetric", general::positive),
    small("saddle", "conditions of quadratic programs, rows without diagonal", general::saddle),
    large("islands", "five to forty small mechanisms in one world", islands::make),
    large("gate", "one mechanism of 100 to 400 rows", gate::make),
    large("stack-smooth", "boxes on each other without friction", stack::smooth),
    large("wall-smooth", "brick walls without friction", wall::smooth),
    large("pile-smooth", "piles without friction", pile::smooth),
    large("wall-frozen", "brick walls, friction bounds frozen", wall::frozen),
    large("pile-frozen", "piles, friction bounds frozen", pile::frozen),
    coupled("stack", "boxes on each other, coupled friction", stack::coupled),
    coupled("wall", "brick walls, coupled friction", wall::coupled),
    coupled("pile", "bodies with three contacts each, random normals, coupled friction", pile::coupled),
    coupled("pile-gravity", "piles that fall: coupled friction, a solution not always known", pile::falling),
    coupled("wall-gravity", "walls that fall: coupled friction, a solution not always known", wall::falling),
    small("contradictory-joints", "joints that contradict each other: no solution", contradictory::joints),
    small("contradictory", "doors, chains and dense rows that contradict each other: mostly no solution", contradictory::bounded),
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
