//! Names of calls as numbers: faults name their call by a text that lives for ever.

use fmi2_abi::Function;

/// Number of a call; 0 if FMI has no such function.
pub(super) fn number(name: &str) -> u8 {
    let position = Function::ALL
        .iter()
        .position(|function| function.name() == name);
    let number = position.and_then(|position| u8::try_from(position + 1).ok());
    number.unwrap_or(0)
}

/// The call of this number.
pub(super) fn name(number: u8) -> &'static str {
    let position = usize::from(number).checked_sub(1);
    let function = position.and_then(|position| Function::ALL.get(position));
    function.map_or("a call", |function| function.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_number_of_its_own() {
        for function in Function::ALL {
            assert_eq!(name(number(function.name())), function.name());
        }
        assert_eq!(name(number("no such function")), "a call");
        assert_eq!(name(255), "a call");
    }
}
