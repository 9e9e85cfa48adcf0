//! A model with variables of every type, which repeats what it is given.

use fmu_kit::{Enumeration, Fault, Model, Variable, variables};
use serde::{Deserialize, Serialize};

const COLOUR: Enumeration = Enumeration {
    name: "Colour",
    description: "A colour",
    items: &[
        ("red", "620 nm to 750 nm"),
        ("green", "495 nm to 570 nm"),
        ("blue", "450 nm to 495 nm"),
    ],
};

/// One value of each type.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Values {
    real: f64,
    integer: i32,
    boolean: bool,
    string: String,
    colour: i32,
}

/// Outputs of every type that follow inputs at once: `real_out` = `gain`·`real_in`, `string_out` =
/// `prefix` + `string_in`, the others repeat their input. Outputs named `…_parameter_out` repeat
/// the parameter of their type.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AllTypes {
    inputs: Values,
    outputs: Values,
    parameters: Values,
    echo: Values,
    gain: f64,
    prefix: String,
}

impl Default for AllTypes {
    fn default() -> Self {
        let zero = Values {
            real: 0.0,
            integer: 0,
            boolean: false,
            string: String::new(),
            colour: 1,
        };
        let parameters = Values {
            real: 0.1,
            integer: -7,
            boolean: true,
            string: "smørrebrød & <\"ω\">".to_owned(),
            colour: 2,
        };
        Self {
            inputs: zero.clone(),
            outputs: zero.clone(),
            echo: zero,
            parameters,
            gain: 1.0,
            prefix: String::new(),
        }
    }
}

impl Model for AllTypes {
    const NAME: &'static str = "AllTypes";
    const DESCRIPTION: &'static str = "Variables of every type, repeated as outputs";
    const INTERPOLATES_INPUTS: bool = true;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = inputs();
        variables.extend(outputs());
        variables.extend(parameters());
        variables
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        self.outputs = self.inputs.clone();
        self.outputs.real *= self.gain;
        self.outputs.string.insert_str(0, &self.prefix);
        self.echo = self.parameters.clone();
        Ok(())
    }
}

fn inputs() -> Vec<Variable<AllTypes>> {
    variables! { AllTypes:
        input_real "real_in" = inputs.real, "a Real";
        input_integer "integer_in" = inputs.integer, "an Integer";
        input_boolean "boolean_in" = inputs.boolean, "a Boolean";
        input_string "string_in" = inputs.string, "a String";
        input_enumeration "colour_in" = inputs.colour of COLOUR, "a colour";
    }
}

fn outputs() -> Vec<Variable<AllTypes>> {
    variables! { AllTypes:
        output_real "real_out" = outputs.real, "gain times real_in",
            depends_on(&["real_in"]), starts_from(&["gain"]);
        output_integer "integer_out" = outputs.integer, "integer_in", depends_on(&["integer_in"]);
        output_boolean "boolean_out" = outputs.boolean, "boolean_in", depends_on(&["boolean_in"]);
        output_string "string_out" = outputs.string, "prefix, then string_in",
            depends_on(&["string_in"]), starts_from(&["prefix"]);
        output_enumeration "colour_out" = outputs.colour of COLOUR, "colour_in",
            depends_on(&["colour_in"]);
        output_real "real_parameter_out" = echo.real, "real_parameter",
            starts_from(&["real_parameter"]);
        output_integer "integer_parameter_out" = echo.integer, "integer_parameter",
            starts_from(&["integer_parameter"]);
        output_boolean "boolean_parameter_out" = echo.boolean, "boolean_parameter",
            starts_from(&["boolean_parameter"]);
        output_string "string_parameter_out" = echo.string, "string_parameter",
            starts_from(&["string_parameter"]);
        output_enumeration "colour_parameter_out" = echo.colour of COLOUR, "colour_parameter",
            starts_from(&["colour_parameter"]);
    }
}

fn parameters() -> Vec<Variable<AllTypes>> {
    variables! { AllTypes:
        parameter_real "gain" = gain, "factor on real_in", tunable();
        parameter_string "prefix" = prefix, "text before string_in";
        parameter_real "real_parameter" = parameters.real, "a Real", min(-1e6), max(1e6);
        parameter_integer "integer_parameter" = parameters.integer, "an Integer",
            min(-100.0), max(100.0);
        parameter_boolean "boolean_parameter" = parameters.boolean, "a Boolean";
        parameter_string "string_parameter" = parameters.string, "a String";
        parameter_enumeration "colour_parameter" = parameters.colour of COLOUR, "a colour";
    }
}
