//! The choices of `auto` in a system, as far as they are made.

use crate::decision::Decision;
use crate::exchange_mode::Exchange;
use crate::extrapolation::OrderChange;
use crate::graph::Graph;
use crate::state::SystemState;

/// All choices that were made for a system, in the order in which they are made: of its description, and of its units and signals where
/// it has a `state`.
pub(crate) fn decisions(graph: &Graph, state: Option<&SystemState>) -> Vec<Decision> {
    let mut decisions = graph.decisions.clone();
    if let Some(state) = state {
        exchange(graph, state, &mut decisions);
        reviews(graph, state, &mut decisions);
    }
    extrapolation(graph, state, &mut decisions);
    if let Some(state) = state {
        correction(graph, state, &mut decisions);
    }
    decisions
}

fn correction(graph: &Graph, state: &SystemState, decisions: &mut Vec<Decision>) {
    for corrector in &state.bonds.correctors {
        decisions.extend(corrector.correction.choice().map(|choice| Decision {
            r#where: graph.bonds[corrector.bond].name.clone(),
            what: choice.what.to_owned(),
            why: choice.why.to_owned(),
            from: graph.clock.start(),
        }));
    }
}

fn exchange(graph: &Graph, state: &SystemState, decisions: &mut Vec<Decision>) {
    for (node, mode) in graph.components.iter().zip(&state.exchange.modes) {
        let depends = |output: usize| !graph.feedthrough(output, false).is_empty();
        if node.exchange != Exchange::AUTO || !node.outputs.clone().any(depends) {
            continue;
        }
        let why = match *mode {
            Exchange::FRESH => "the unit declares it safe to read outputs again",
            Exchange::COMPENSATED => "its direct feed-through D is known and smooth",
            Exchange::NO_FEEDTHROUGH => "it declares direct feed-through and shows none",
            _ => "its direct feed-through D is not smooth, or could not be measured",
        };
        decisions.push(Decision {
            r#where: node.name.clone(),
            what: format!("exchange {}", mode.word()),
            why: why.to_owned(),
            from: graph.clock.start(),
        });
    }
}

/// What compensation has found out about D while it ran, an entry for each output and kind.
fn reviews(graph: &Graph, state: &SystemState, decisions: &mut Vec<Decision>) {
    for pass in &state.exchange.passes {
        for (row, output) in pass.record.rows.iter().zip(&pass.outputs) {
            let kinds = [
                (
                    row.measured,
                    "another D",
                    "steps from a saved state, taken back, show that D has moved",
                ),
                (
                    row.stale,
                    "exchange stale",
                    "its correction D·(u − ũ) did not predict it",
                ),
                (
                    row.limited,
                    "a limited correction",
                    "D·(u − ũ) predicts the output roughly, and was greater than its changes",
                ),
            ];
            let found = kinds.iter().filter(|(times, ..)| times.count > 0);
            decisions.extend(found.map(|(times, what, why)| Decision {
                r#where: graph.output_name(*output),
                what: match times.count {
                    1 => format!("{what}, once"),
                    count => format!("{what}, {count} times until t = {} s", times.last),
                },
                why: (*why).to_owned(),
                from: times.first,
            }));
        }
    }
}

fn extrapolation(graph: &Graph, state: Option<&SystemState>, decisions: &mut Vec<Decision>) {
    for (component, node) in graph.components.iter().enumerate() {
        for index in node.inputs.clone() {
            let input = &graph.inputs[index];
            let name = graph.variable_name(component, input.variable);
            let course = state.map(|state| &state.courses.inputs[index]);
            let made = course.and_then(|course| course.extrapolation.as_ref());
            let changes = made.map_or(&[][..], |made| made.changes());
            if input.extrapolation.name() != "auto" {
                decisions.extend(changes.iter().map(|change| Decision {
                    r#where: name.clone(),
                    what: format!(
                        "{} by a weight of order {}",
                        input.extrapolation.name(),
                        change.to
                    ),
                    why: format!(
                        "it has missed less of the last exchanges than order {}",
                        change.from
                    ),
                    from: graph.clock.start() + change.time,
                }));
                continue;
            }
            let follows = graph.steps_of(component, input).follows;
            let why = match follows {
                0 => "the unit takes values only",
                1 => "the unit takes first derivatives",
                _ => "the unit follows curves",
            };
            decisions.push(Decision {
                r#where: name.clone(),
                what: words(follows, "the degree that has predicted best"),
                why: why.to_owned(),
                from: graph.clock.start(),
            });
            decisions.extend(made.and_then(|made| made.inner_steps()).map(|(count, from)| Decision {
                r#where: name.clone(),
                what: match count {
                    1 => "extrapolation hold".to_owned(),
                    _ => format!("extrapolation by the mean of the prediction at the starts of {count} inner steps"),
                },
                why: format!("the outputs of the unit show {count} steps of the semi-implicit Euler method in a macro-step"),
                from: graph.clock.start() + from,
            }));
            decisions.extend(changes.iter().map(|change| Decision {
                r#where: name.clone(),
                what: words(follows, &format!("degree {}", change.to)),
                why: reason(change),
                from: graph.clock.start() + change.time,
            }));
        }
    }
}

/// A prediction in the form that the receiver takes.
fn words(follows: usize, degree: &str) -> String {
    let form = match follows {
        0 => "the mean of the polynomial",
        1 => "the line with the mean and the end value of the polynomial",
        _ => "the polynomial",
    };
    format!("extrapolation by {form} of {degree}")
}

fn reason(change: &OrderChange) -> String {
    let OrderChange { from, to, .. } = change;
    match to > from {
        true => format!("degree {to} has predicted the last values better than {from}"),
        false => format!("degree {to} has predicted the last values as well as {from}, or better"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::drafted_plan;
    use crate::{ClosureUnit, LinearUnit, RunOptions, System};

    /// A force D·v + x of a unit with feed-through, on a mass.
    fn system(method: &str, exchange: &str) -> System {
        let mass = LinearUnit::new(&[1.0], &["f"], &["v"], [&[0.0], &[-1.0], &[1.0], &[0.0]]);
        let spring = LinearUnit::new(&[0.0], &["v"], &["f"], [&[0.0], &[1.0], &[1.0], &[0.5]]);
        let mut system = System::new(0.1);
        system
            .stop_time(1.0)
            .method(method)
            .exchange(exchange)
            .extrapolation("auto");
        // Fed before the unit that follows by name.
        system.add("a", spring);
        system.add("b", mass);
        system.connect("a.f", "b.f");
        system.connect("b.v", "a.v");
        system
    }

    fn of_run(system: &System) -> Vec<Decision> {
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.run().unwrap();
        run.report().decisions
    }

    fn what(decisions: &[Decision], place: &str) -> Vec<String> {
        let of_place = decisions.iter().filter(|found| found.r#where == place);
        of_place.map(|found| found.what.clone()).collect()
    }

    #[test]
    fn units_take_turns_where_feedthrough_is_exchanged_stale() {
        for (exchange, method) in [("stale", "gauss-seidel"), ("compensated", "jacobi")] {
            let system = system("auto", exchange);
            let decisions = of_run(&system);
            assert_eq!(what(&decisions, "method"), [method]);
            let plan = drafted_plan(&system).unwrap();
            assert_eq!(plan.method, method);
            assert_eq!(what(&plan.decisions, "method"), [method]);
        }
        assert!(what(&of_run(&system("jacobi", "stale")), "method").is_empty());
    }

    #[test]
    fn an_exchange_that_was_asked_for_is_no_decision() {
        let auto = of_run(&system("jacobi", "auto"));
        assert_eq!(what(&auto, "a"), ["exchange fresh"]);
        assert!(what(&auto, "b").is_empty());
        assert!(what(&of_run(&system("jacobi", "compensated")), "a").is_empty());
    }

    /// A mass in one step of the semi-implicit Euler method, on a spring that is another component.
    #[test]
    fn units_of_inner_steps_get_the_values_at_their_starts() {
        let mut system = System::new(0.01);
        system.stop_time(0.5);
        let mut state = [1.0, 0.0];
        let mass = ClosureUnit::new(&[("f", 0.0)], &[("x", 1.0), ("v", 0.0)], move |call| {
            state[1] += call.step * call.inputs[0];
            state[0] += call.step * state[1];
            call.outputs.copy_from_slice(&state);
        });
        system.add("mass", mass);
        let spring = LinearUnit::new(&[], &["x"], &["f"], [&[], &[], &[], &[-30.0]]);
        system.add("spring", spring);
        system.connect("mass.x", "spring.x");
        system.connect("spring.f", "mass.f");
        let decisions = of_run(&system);
        let held = decisions
            .iter()
            .find(|found| found.what == "extrapolation hold");
        let held = held.unwrap();
        assert_eq!(held.r#where, "mass.f");
        assert!((0.03..0.06).contains(&held.from), "{held:?}");
    }

    /// A signal that ends to be smooth is predicted by a lower degree from then on.
    #[test]
    fn changes_of_the_degree_have_their_times() {
        let mut system = System::new(0.1);
        system.stop_time(4.0).method("jacobi").extrapolation("auto");
        let signal = |t: f64| match t {
            t if t < 1.95 => (2.0 * t).sin(),
            // Alternates, within the values that came before.
            t => 0.5 * (10.0 * std::f64::consts::PI * t).cos(),
        };
        let source = ClosureUnit::new(&[], &[("y", 0.0)], move |call| {
            call.outputs[0] = signal(call.time + call.step);
        });
        system.add("source", source.memoryless());
        system.add(
            "sink",
            ClosureUnit::new(&[("u", 0.0)], &[], |_| {}).memoryless(),
        );
        system.connect("source.y", "sink.u");
        let decisions = of_run(&system);
        let [first, changes @ ..] = &decisions[..] else {
            panic!("{decisions:?}");
        };
        assert_eq!((&*first.r#where, first.from), ("sink.u", 0.0));
        assert!(first.what.contains("mean"), "{first:?}");
        let last = changes.last().unwrap();
        assert!(last.what.ends_with("degree 0"), "{last:?}");
        assert!((2.0..3.0).contains(&last.from), "{last:?}");
    }
}
