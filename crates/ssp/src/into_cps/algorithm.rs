//! Times and algorithm. Maestro steps all instances at once with the values of the last step (`JacobianStepBuilder.java`).

use gyrator_system::{Choice, Component, Experiment, Problem, Spanned, Value};

use super::Documents;
use super::instances::Instances;
use super::json::{Json, Object};
use crate::tree::Reader;

/// Passes of a step that Maestro makes at most to stabilise it (`Maestro2Broker.java`).
const PASSES: i64 = 5;
/// Relative tolerance of these passes if a multi-model gives none, as the INTO-CPS application writes it.
const TOLERANCE: f64 = 0.01;

pub(super) fn experiment(
    files: &Documents<'_>,
    instances: &Instances,
    components: &[Component],
    reader: &mut Reader<'_>,
) -> Experiment {
    let stop_time = files.number("endTime", reader);
    let mut experiment = Experiment {
        start_time: files.number("startTime", reader),
        stop_time: stop_time.or_else(|| files.number("end_time", reader)),
        method: Some(method(files, reader)),
        exchange: Some(Spanned::unplaced("stale".to_owned())),
        extrapolation: Some(Choice::new("hold")),
        ..Experiment::default()
    };
    let Some(algorithm) = files.get("algorithm") else {
        return experiment;
    };
    let known = ["type", "size", "initsize", "constraints"];
    let object = Object::new("algorithm", algorithm, &known, reader);
    let kind = object.get("type").and_then(|kind| kind.text());
    match kind.as_ref().map(|kind| &*kind.value) {
        Some("fixed-step") => {
            experiment.step_size = object.number("size", reader);
            let accumulate = Value::Boolean(true);
            experiment.step_control = Some(Choice::new("fixed").with("accumulate", accumulate));
        }
        Some("var-step") => {
            let steps = Variable {
                algorithm,
                object,
                instances,
                components,
            };
            steps.add(&mut experiment, reader);
        }
        _ => {
            let place = kind.map_or(algorithm.span(), |kind| kind.span);
            let message = "the `type` of an algorithm is `fixed-step` or `var-step`".to_owned();
            reader.error("unknown-algorithm", message, &place);
        }
    }
    experiment
}

/// Jacobi; with stabilisation, passes of it until values agree or there are too many.
fn method(files: &Documents<'_>, reader: &mut Reader<'_>) -> Choice {
    let is_stabilised = files.flag("stabalizationEnabled", reader);
    let mut number = |key: &str, default: f64| {
        let number = files.number(key, reader);
        number.unwrap_or_else(|| Spanned::unplaced(default))
    };
    let relative = number("global_relative_tolerance", TOLERANCE);
    let absolute = number("global_absolute_tolerance", 0.0);
    if !is_stabilised {
        return Choice::new("jacobi");
    }
    let text = |text: &str| Value::String(text.to_owned());
    let mut choice = Choice::new("iterative");
    choice = choice.with("order", text("jacobi"));
    choice = choice.with("accelerator", text("fixed-point"));
    for (name, number) in [("tolerance", relative), ("absolute_tolerance", absolute)] {
        let value = Spanned::new(Value::Real(number.value), number.span);
        choice
            .parameters
            .push((Spanned::unplaced(name.to_owned()), value));
    }
    choice = choice.with("max_iterations", Value::Integer(PASSES));
    choice.with("on_failure", text("accept"))
}

/// An algorithm with steps of several sizes.
struct Variable<'a, 't> {
    algorithm: Json<'t>,
    object: Object<'t>,
    instances: &'a Instances,
    components: &'a [Component],
}

/// A constraint on steps.
struct Constraint<'t> {
    name: Spanned<String>,
    kind: String,
    object: Object<'t>,
}

impl<'t> Variable<'_, 't> {
    fn add(&self, experiment: &mut Experiment, reader: &mut Reader<'_>) {
        let sizes = self.object.get("size").and_then(|json| {
            let numbers = json.items()?.into_iter().map(|item| {
                let number = item.number()?;
                Some(Spanned::new(number, item.span()))
            });
            let numbers: Vec<_> = numbers.collect::<Option<_>>()?;
            <[Spanned<f64>; 2]>::try_from(numbers).ok()
        });
        let Some([minimum, maximum]) = sizes else {
            let message =
                "the `size` of `var-step` is the smallest and the largest step: `[0.001, 0.1]`";
            let place = self
                .object
                .get("size")
                .map_or(self.algorithm.span(), |json| json.span());
            reader.error("wrong-type", message.to_owned(), &place);
            return;
        };
        let Some(mut choice) = self.choice(reader) else {
            return;
        };
        let first = self.object.number("initsize", reader);
        let first = first
            .filter(|first| first.value > 0.0)
            .unwrap_or_else(|| minimum.clone());
        for (name, number) in [
            ("first_step", first),
            ("minimum_step", minimum),
            ("maximum_step", maximum.clone()),
        ] {
            set(&mut choice, name, number);
        }
        experiment.step_size = Some(maximum);
        experiment.step_control = Some(choice);
    }

    /// The step control of all constraints, which are of one kind.
    fn choice(&self, reader: &mut Reader<'_>) -> Option<Choice> {
        let mut constraints = Vec::new();
        for (name, json) in self.members("constraints", reader) {
            constraints.extend(constraint(name, json, reader));
        }
        let refuse = |message: String, place: &std::ops::Range<usize>, reader: &mut Reader<'_>| {
            let problem = Problem::error("not-supported", message).at(place);
            let help = "choose a step control by hand: --step-control, or the type `fixed-step`";
            reader.problems.push(problem.help(help));
        };
        let Some(first) = constraints.first() else {
            let message = "`var-step` has no constraint that gyrator knows".to_owned();
            refuse(message, &self.algorithm.span(), reader);
            return None;
        };
        if let Some(other) = constraints.iter().find(|other| other.kind != first.kind) {
            let message = format!(
                "constraints of two kinds, `{}` and `{}`; gyrator takes one",
                first.kind, other.kind
            );
            refuse(message, &other.name.span, reader);
            return None;
        }
        let is_crossing = first.kind == "zerocrossing";
        let mut choice = Choice::new(if is_crossing {
            "zero-crossing"
        } else {
            "bounded-difference"
        });
        choice.name.span = first.name.span.clone();
        let signals: Vec<String> = constraints
            .iter()
            .filter_map(|one| self.signals(one, reader))
            .collect();
        let signals = Spanned::new(Value::String(signals.join(", ")), first.name.span.clone());
        choice
            .parameters
            .push((Spanned::unplaced("signals".to_owned()), signals));
        // The strictest of all counts.
        let mut least = |key: &str| {
            let numbers = constraints
                .iter()
                .filter_map(|one| one.object.number(key, reader));
            numbers.min_by(|a, b| a.value.total_cmp(&b.value))
        };
        let (absolute, relative) = (least("abstol"), least("reltol"));
        let (order, safety) = (least("order"), least("safety"));
        if is_crossing {
            absolute
                .into_iter()
                .for_each(|number| set(&mut choice, "tolerance", number));
            if order.is_some_and(|order| order.value < 2.0) {
                choice = choice.with("prediction", Value::String("line".to_owned()));
            }
            safety
                .into_iter()
                .for_each(|number| set(&mut choice, "margin", number));
        } else {
            relative
                .into_iter()
                .for_each(|number| set(&mut choice, "tolerance", number));
            absolute
                .into_iter()
                .for_each(|number| set(&mut choice, "absolute_tolerance", number));
        }
        let message = format!(
            "`{}` becomes `{}`, which is near to it: steps differ from Maestro's",
            first.kind, choice.name.value
        );
        reader
            .problems
            .push(Problem::warning("approximated", message).at(&first.name.span));
        Some(choice)
    }

    fn members(&self, key: &str, reader: &mut Reader<'_>) -> Vec<super::json::Member<'t>> {
        let Some(json) = self.object.get(key) else {
            return Vec::new();
        };
        json.members().unwrap_or_else(|| {
            json.wrong(key, "an object in braces", reader);
            Vec::new()
        })
    }

    /// One signal, or the difference of two.
    fn signals(&self, constraint: &Constraint<'t>, reader: &mut Reader<'_>) -> Option<String> {
        let ports = constraint.object.get("ports")?;
        let mut names = Vec::new();
        for item in ports.items().unwrap_or_default() {
            let Some(text) = item.text() else {
                item.wrong("ports", "a list of signals in quotes", reader);
                return None;
            };
            let signal = self.instances.known_signal(&text, reader)?;
            names.push(signal.port(self.components).value.to_string());
        }
        if !matches!(names.len(), 1 | 2) {
            ports.wrong("ports", "a list of one or two signals", reader);
            return None;
        }
        Some(names.join(" - "))
    }
}

fn constraint<'t>(
    name: Spanned<String>,
    json: Json<'t>,
    reader: &mut Reader<'_>,
) -> Option<Constraint<'t>> {
    let known = [
        "type",
        "ports",
        "order",
        "abstol",
        "reltol",
        "safety",
        "skipDiscrete",
        "base",
        "rate",
        "startTime",
    ];
    let object = Object::new(&name.value, json, &known, reader);
    let kind = object.get("type").and_then(|kind| kind.text());
    let kind = kind.map(|kind| kind.value).unwrap_or_default();
    let problem = match &*kind {
        "zerocrossing" | "boundeddifference" => return Some(Constraint { name, kind, object }),
        "fmumaxstepsize" => {
            let message = "`fmumaxstepsize` is ignored: no FMU 2.0 names its largest step";
            Problem::warning("not-supported", message)
        }
        "samplingrate" => {
            let message = "`samplingrate` is not supported";
            let problem = Problem::error("not-supported", message);
            problem.help("take a `fixed-step` that divides the sampling time")
        }
        _ => Problem::error("unknown-constraint", format!("unknown constraint `{kind}`")),
    };
    reader.problems.push(problem.at(&name.span));
    None
}

fn set(choice: &mut Choice, name: &str, number: Spanned<f64>) {
    let value = Spanned::new(Value::Real(number.value), number.span);
    choice
        .parameters
        .push((Spanned::unplaced(name.to_owned()), value));
}
