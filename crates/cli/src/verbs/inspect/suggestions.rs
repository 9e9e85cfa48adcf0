//! Power bonds that a system could have, as text for its file.

use std::fmt::Write as _;

use gyrator::system::{Evidence, SuggestedBond};
use gyrator_system::toml_file::bond_to_toml;
use serde::Serialize;

use super::system::{BondFacts, bond};

/// A bond that connections suggest.
#[derive(Serialize)]
pub(super) struct Suggestion {
    #[serde(flatten)]
    bond: BondFacts,
    quantities: &'static str,
    evidence: Evidence,
    /// Whether no other pair of connections would do.
    unique: bool,
    toml: String,
}

impl Suggestion {
    pub(super) fn new(suggested: &SuggestedBond) -> Self {
        Self {
            bond: bond(&suggested.bond),
            quantities: suggested.quantities,
            evidence: suggested.evidence,
            unique: suggested.is_unique,
            toml: bond_to_toml(&suggested.bond),
        }
    }
}

/// The text to be pasted into the system file.
pub(super) fn render(bonds: &[Suggestion]) -> String {
    if bonds.is_empty() {
        return "# no connection suggests a power bond that the file does not have yet\n"
            .to_owned();
    }
    let mut text = String::from(
        "# Units of measure do not show the sign of the effort: set `sense = -1` where the power is −effort · flow\n",
    );
    for bond in bonds {
        let source = match bond.evidence {
            Evidence::Ports => "by a port of an FMU",
            Evidence::Units => "by the units",
            Evidence::Names => "by the names alone",
        };
        let doubt = match bond.unique {
            true => "",
            false => "; other connections would do as well",
        };
        let _ = write!(
            text,
            "\n# {}, {source}{doubt}\n{}",
            bond.quantities, bond.toml
        );
    }
    text
}
