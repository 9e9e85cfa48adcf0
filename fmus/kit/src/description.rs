//! `modelDescription.xml` from the variable table.

mod scalar_variable;
mod xml;

pub use scalar_variable::{BaseType, ScalarVariable};

use crate::model::Model;
use crate::table::Table;
use xml::Head;

/// Name, identity and XML text of a model's FMU.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// `modelName` and `modelIdentifier`.
    pub model_name: &'static str,
    /// Hash of everything else in the XML, so that equal tables have equal identities.
    pub guid: String,
    /// The text of `modelDescription.xml`.
    pub xml: String,
    /// The variables, in the order of the text.
    pub variables: Vec<ScalarVariable>,
}

/// Describes the model `M` as an FMU for co-simulation.
#[must_use]
pub fn describe<M: Model>() -> Description {
    let head = Head {
        model_name: M::NAME,
        description: M::DESCRIPTION,
        interpolates_inputs: M::INTERPOLATES_INPUTS,
        fresh_outputs: !M::IS_STRICT,
        stop_time: M::STOP_TIME,
        step_size: M::STEP_SIZE,
    };
    written(&head, scalar_variables::<M>())
}

/// The variables of the model `M`'s FMU, in the order of its `modelDescription.xml`.
#[must_use]
pub fn scalar_variables<M: Model>() -> Vec<ScalarVariable> {
    scalar_variable::rows(&Table::<M>::new())
}

fn written(head: &Head, variables: Vec<ScalarVariable>) -> Description {
    let guid = guid(&xml::document(head, &variables, ""));
    Description {
        model_name: head.model_name,
        xml: xml::document(head, &variables, &guid),
        variables,
        guid,
    }
}

/// Log categories that an FMU of the kit uses, with descriptions.
pub const LOG_CATEGORIES: [(&str, &str); 5] = [
    ("logStatusWarning", "Calls that returned fmi2Warning"),
    (
        "logStatusDiscard",
        "Calls that returned fmi2Discard, and why",
    ),
    ("logStatusError", "Calls that returned fmi2Error, and why"),
    ("logStatusFatal", "Calls that returned fmi2Fatal, and why"),
    ("logState", "Changes of the call state, for debugging"),
];

/// 128-bit FNV-1a in the form of a GUID.
fn guid(text: &str) -> String {
    const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let hash = text.bytes().fold(OFFSET_BASIS, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(PRIME)
    });
    let digits = format!("{hash:032x}");
    let (a, b, c) = (&digits[..8], &digits[8..12], &digits[12..16]);
    let (d, e) = (&digits[16..20], &digits[20..]);
    format!("{{{a}-{b}-{c}-{d}-{e}}}")
}

#[cfg(test)]
mod tests {
    use super::{describe, guid};
    use crate::test_model::Pendulum;

    /// Offset basis and the hash of "a" as printed in the FNV draft (draft-eastlake-fnv), 128 bit.
    #[test]
    fn guid_is_fnv_1a() {
        assert_eq!(guid(""), "{6c62272e-07bb-0142-62b8-21756295c58d}");
        assert_eq!(guid("a"), "{d228cb69-6f1a-8caf-7891-2b704e4a8964}");
    }

    /// FMI 2.0.5, section 2.2.8: local variables are not unknowns, except states and derivatives.
    #[test]
    fn model_structure_lists_outputs() {
        let xml = describe::<Pendulum>().xml;
        assert!(xml.contains("causality=\"local\""));
        let (_, structure) = xml.split_once("<ModelStructure>").unwrap();
        for index in [1, 2] {
            assert_eq!(structure.matches(&format!("index=\"{index}\"")).count(), 2);
        }
        assert!(!structure.contains("index=\"3\""));
    }
}
