//! Words that a program adds to the engine's, used from a system description.

use gyrator::correction::{BondFacts, BondPoint, Correction, CorrectionFacts, Increments};
use gyrator::extrapolation::{Curve, EXTRAPOLATIONS, Extrapolation, ExtrapolationFacts, Sample};
use gyrator::need::Need;
use gyrator::registry::{Entry, ParameterInfo, ParameterKind, look_up};
use gyrator::{Registries, Report, RunOptions, System};
use gyrator_system::{Choice, toml_file};
use gyrator_testkit::Trace;

/// The newest value times a factor, held.
#[derive(Clone)]
struct ScaledHold {
    factor: f64,
    value: f64,
}

const FACTOR: ParameterInfo =
    ParameterInfo::number("factor", "factor on the newest value", 1.0, (0.0, 2.0));

const SCALED_HOLD: Entry<dyn Extrapolation> = Entry {
    name: "scaled-hold",
    summary: "the newest value times a factor",
    source: "this test",
    parameters: &[FACTOR],
    facts: |_, _| ExtrapolationFacts::polynomial(0),
    build: |arguments| {
        Box::new(ScaledHold {
            factor: arguments.number("factor"),
            value: 0.0,
        })
    },
};

impl Extrapolation for ScaledHold {
    fn observe(&mut self, sample: Sample) {
        self.value = self.factor * sample.value;
    }

    fn curve(&self, _: f64, _: f64) -> Curve {
        Curve::constant(self.value)
    }

    fn clear(&mut self) {}

    fn order(&self) -> usize {
        0
    }

    fn duplicate(&self) -> Box<dyn Extrapolation> {
        Box::new(self.clone())
    }
}

/// Adds a constant to all efforts.
#[derive(Clone)]
struct Push(f64);

const PUSH: Entry<dyn Correction> = Entry {
    name: "push",
    summary: "a constant effort",
    source: "this test",
    parameters: &[ParameterInfo::number(
        "effort",
        "what is added, in the unit of the effort",
        0.0,
        (-10.0, 10.0),
    )],
    facts: |_, ()| CorrectionFacts::default(),
    build: |arguments| Box::new(Push(arguments.number("effort"))),
};

impl Correction for Push {
    fn begin(&mut self, _: &BondFacts) {}

    fn correct(&mut self, _: &BondPoint, increments: &mut Increments) {
        increments.effort.fill(Curve::constant(self.0));
    }

    fn duplicate(&self) -> Box<dyn Correction> {
        Box::new(self.clone())
    }

    fn parameters_in_force(&self) -> Vec<(&'static str, f64)> {
        vec![("effort", self.0)]
    }
}

fn system(experiment: &str, correction: &str) -> System {
    let fmu = |name: &str| gyrator_testkit::fmu(name).display().to_string();
    let text = format!(
        "[experiment]\nstop_time = 0.1\nstep_size = 1e-3\n{experiment}\n\
         [components]\nforce = {{ fmu = '{}' }}\nmotion = {{ fmu = '{}' }}\n\
         [[connections]]\nfrom = 'motion.x'\nto = 'force.x2'\n\
         [[bonds]]\nname = 'coupling'\ncorrection = {correction}\n\
         effort = [{{ from = 'force.f', to = 'motion.f' }}]\n\
         flow = [{{ from = 'motion.v', to = 'force.v2' }}]\n",
        fmu("OscillatorForce"),
        fmu("OscillatorMotion"),
    );
    let (file, _) = toml_file::parse(&text, "system.toml").unwrap();
    let mut system = System::from_file(file).unwrap();
    system.registries().extrapolations.add(SCALED_HOLD).unwrap();
    system.registries().corrections.add(PUSH).unwrap();
    system
}

fn run(experiment: &str, correction: &str) -> (Vec<u64>, Report) {
    let mut run = system(experiment, correction)
        .start(&RunOptions::default())
        .unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let report = run.run().unwrap();
    (trace.bits(), report)
}

#[test]
fn added_entries_run_from_a_system_file() {
    let (plain, _) = run("extrapolation = 'hold'", "'off'");
    let (same, _) = run("extrapolation = 'scaled-hold'", "'push'");
    assert_eq!(plain, same);
    let scaled = "extrapolation = { name = 'scaled-hold', factor = 0.5 }";
    let (halved, _) = run(scaled, "'off'");
    assert_ne!(plain, halved);
    let (pushed, report) = run("", "{ name = 'push', effort = 2.0 }");
    assert_ne!(plain, pushed);
    let bond = &report.bonds[0];
    assert_eq!(bond.correction, "push");
    assert_eq!(bond.correction_parameters["effort"], 2.0);
}

#[test]
fn aliases_are_the_extrapolations_that_they_name() {
    for (alias, name) in [("zoh", "hold"), ("foh", "linear")] {
        let chosen = look_up(EXTRAPOLATIONS, &Choice::new(alias)).unwrap();
        assert_eq!(chosen.name(), name);
        let (plain, _) = run(&format!("extrapolation = '{name}'"), "'off'");
        let (same, _) = run(&format!("extrapolation = {{ name = '{alias}' }}"), "'off'");
        assert_eq!(plain, same, "{alias}");
    }
    refused(
        &system("extrapolation = 'zho'", "'off'"),
        "did you mean `zoh`?",
    );
}

#[track_caller]
fn refused(system: &System, expected: &str) {
    let problems = format!("{:?}", system.check());
    assert!(problems.contains(expected), "{problems}");
}

#[test]
fn added_entries_are_refused_as_those_of_the_engine_are() {
    refused(
        &system(
            "extrapolation = { name = 'scaled-hold', factor = 3.0 }",
            "'off'",
        ),
        "`factor` of `scaled-hold` must be a number from 0 to 2",
    );
    refused(
        &system("extrapolation = 'scaled'", "'off'"),
        "did you mean `scaled-hold`?",
    );
    refused(
        &system("method = 'mean-force'", "'push'"),
        "method `mean-force` and correction `push` of bond `coupling` do not go together",
    );
    let mut filter = system("extrapolation = 'filter'\nmethod = 'gauss-seidel'", "'off'");
    let entry = Entry {
        name: "filter",
        facts: |_, _| ExtrapolationFacts {
            needs_substeps: true,
            ..ExtrapolationFacts::polynomial(0)
        },
        ..SCALED_HOLD
    };
    filter.registries().extrapolations.add(entry).unwrap();
    refused(
        &filter,
        "method `gauss-seidel` and extrapolation `filter` do not go together",
    );
}

#[test]
fn entries_that_could_not_be_chosen_are_refused() {
    let mut registries = Registries::default();
    let extrapolations = &mut registries.extrapolations;
    let mut refuse = |entry: Entry<dyn Extrapolation>, expected: &str| {
        let error = extrapolations.add(entry).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let named = |name: &'static str| Entry {
        name,
        ..SCALED_HOLD
    };
    refuse(named("hold"), "there is one of this name already");
    refuse(named("zoh"), "there is one of this name already");
    refuse(named(""), "its name is not a valid word");
    refuse(named("two words"), "its name is not a valid word");
    let with = |parameters: &'static [ParameterInfo]| Entry {
        parameters,
        ..SCALED_HOLD
    };
    refuse(
        with(&[FACTOR, FACTOR]),
        "its parameter `factor` is there twice",
    );
    const NAME: ParameterInfo = ParameterInfo {
        name: "name",
        ..FACTOR
    };
    refuse(with(&[NAME]), "its parameter `name` is there twice");
    const BAD_DEFAULT: ParameterInfo = ParameterInfo {
        kind: ParameterKind::Number {
            default: 3.0,
            range: (0.0, 2.0),
        },
        ..FACTOR
    };
    refuse(
        with(&[BAD_DEFAULT]),
        "has the default 3, which is not allowed",
    );
    const NO_WORDS: ParameterInfo = ParameterInfo {
        kind: ParameterKind::Word(&[]),
        ..FACTOR
    };
    refuse(with(&[NO_WORDS]), "has no words to choose from");
    let off = Entry {
        name: "off",
        ..PUSH
    };
    let error = registries.corrections.add(off).unwrap_err();
    assert!(
        error.to_string().contains("the correction `off`"),
        "{error}"
    );
}

#[test]
fn the_table_of_needs_holds_added_entries() {
    let mut registries = Registries::default();
    registries.corrections.add(PUSH).unwrap();
    let table = gyrator::compatibility::claims(&registries);
    let row = table.iter().find(|row| row.need == Need::LastValues);
    let needed_by = &row.unwrap().needed_by;
    assert!(
        needed_by.contains(&"correction `push`".to_owned()),
        "{needed_by:?}"
    );
}
