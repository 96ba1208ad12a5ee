//! Compliance and damping of a row that stands for a spring (Enzenhoefer et al. 2019, §2; González et al., eq. 1).

use crate::error::{Error, Result, Status};

/// What makes a row a spring and a damper, both implicit: `x = -h (k φ₊ + d w)` with `φ₊ = φ + h w` gives the row
/// `w + C x + share φ / h = 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compliance {
    /// `C = 1 / (h (h k + d))`, velocity per impulse: the diagonal to add to A.
    pub compliance: f64,
    /// `h k / (h k + d)`, in [0, 1]: the share of the violation that a step removes. Multiply the violation by it.
    pub share: f64,
}

impl Compliance {
    /// From stiffness k > 0 (N/m or N m/rad; infinite: rigid), damping d >= 0 (N s/m or N m s/rad) and step h (s).
    /// `d = 0` gives `1/(k h²)` and all of the violation.
    pub fn new(stiffness: f64, damping: f64, h: f64) -> Result<Compliance> {
        let refuse = |name: &str, value: f64, rule: &str| {
            Err(Error::new(Status::InvalidValue, format_args!("{name} is {value}, it must be {rule}")))
        };
        if stiffness.is_nan() || stiffness < 0.0 {
            return refuse("stiffness", stiffness, ">= 0");
        }
        if !(damping >= 0.0 && damping.is_finite()) {
            return refuse("damping", damping, ">= 0 and finite");
        }
        if !(h > 0.0 && h.is_finite()) {
            return refuse("h", h, "positive and finite");
        }
        if stiffness == f64::INFINITY {
            return Ok(Compliance { compliance: 0.0, share: 1.0 });
        }
        let resistance = h * stiffness + damping;
        let compliance = 1.0 / (h * resistance);
        if !compliance.is_finite() {
            return refuse("stiffness", stiffness, "positive, or damping must be: the row would have no force at all");
        }
        Ok(Compliance { compliance, share: h * stiffness / resistance })
    }
}
