//! The ledger over some macro-steps in a row: the same sums as step by step, but some bonds after the others, so that their sums stay
//! in registers.

use gyrator_thread_team::{Four, Loops, with_wide_registers};

use super::constant_inputs::ConstantInputs;
use super::copies::Copies;
use super::single_bond::SumInTime;
use super::sums::{Addends, Made, Sums};
use super::{BondAccount, BondEnergy, Ledger};
use crate::extremes::greater;
use crate::rows::{MOST_STEPS, Rows};
use crate::state::SystemState;

/// Bonds that are added side by side.
pub(super) const SIDE_BY_SIDE: usize = 4;

/// Numbers of axes of bonds that can be added here: those of motions in one to three directions, without turns and with them.
pub(super) const AXES: [usize; 4] = [1, 2, 3, MOST_AXES];
const MOST_AXES: usize = 6;

/// One number of each of the bonds.
pub(super) type Each = [f64; SIDE_BY_SIDE];
type ByStep = [Each; MOST_STEPS];

/// Some bonds with as many axes each, which follow each other: [`SIDE_BY_SIDE`] at most.
pub(super) struct Group<'a>(pub(super) &'a mut [BondAccount]);

impl Group<'_> {
    /// A value of each bond. In the place of bonds that lack there is the last one, whose values are computed again.
    #[inline(always)]
    pub(super) fn each<T>(&self, value: impl Fn(&BondAccount) -> T) -> [T; SIDE_BY_SIDE] {
        let last = self.0.len() - 1;
        std::array::from_fn(|lane| value(&self.0[lane.min(last)]))
    }

    #[inline(always)]
    pub(super) fn number<F: Four>(&self, value: impl Fn(&BondAccount) -> f64) -> F {
        F::from(self.each(value))
    }
}

/// The axes of some bonds from macro-step to macro-step.
pub(super) trait Courses<F: Four> {
    /// Goes on by a macro-step, the `step`-th of the row, after which these are the outputs.
    fn go_on(&mut self, step: usize, outputs: &[f64]) -> Made<F>;

    /// Gives the bonds what they need for the next macro-step.
    fn keep(self, bonds: &mut [BondAccount]);
}

/// The macro-steps that are added, and what is to know of their powers.
struct Steps<'a, 'b> {
    rows: &'a Rows,
    /// Where inputs are no copies of outputs that are not stale.
    used: Option<Used<'a>>,
    /// Length of each, s.
    size: f64,
    end_of: &'a dyn Fn(usize) -> f64,
    look: &'a mut Look<'b>,
    /// The ledger has several bonds.
    has_several: bool,
    /// Integrated residual energy of all power bonds by macro-step, J.
    made: [f64; MOST_STEPS],
    room: &'a mut Room,
}

/// Residual and given powers, W, and integrated residual energies, J, of the bonds that were added last: in each macro-step those of
/// [`SIDE_BY_SIDE`] bonds, or those of one bond in the macro-steps.
#[derive(Clone)]
pub(super) struct Room {
    pub(super) residual: ByStep,
    pub(super) given: ByStep,
    pub(super) integrated: ByStep,
    /// Numbers from one macro-step to the next.
    stride: usize,
}

impl Default for Room {
    fn default() -> Self {
        let [residual, given, integrated] = [[[0.0; SIDE_BY_SIDE]; MOST_STEPS]; 3];
        Self {
            residual,
            given,
            integrated,
            stride: SIDE_BY_SIDE,
        }
    }
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room").finish_non_exhaustive()
    }
}

/// Values of inputs in the macro-steps.
#[derive(Clone, Copy)]
struct Used<'a> {
    rows: &'a Rows,
    /// The place of each input in a row, where it is not its number.
    places: Option<&'a [u32]>,
    /// As [`Signals::start_changes`](crate::state::Signals::start_changes).
    start_changes: &'a [f64],
}

/// Receives the number of a bond, its powers by macro-step, and the greatest magnitudes of residual and given power, W.
type Look<'a> = dyn FnMut(usize, Powers<'_>, [f64; 2]) + 'a;

/// Powers of one bond in some macro-steps.
#[derive(Clone, Copy)]
pub(crate) struct Powers<'a> {
    /// Number of macro-steps.
    pub(crate) steps: usize,
    /// Residual and given power in each, W.
    pub(crate) of: &'a dyn Fn(usize) -> [f64; 2],
}

impl Ledger {
    /// Whether it can observe macro-steps in a row.
    #[inline(always)]
    pub(crate) fn takes_rows(&self, state: &SystemState) -> bool {
        self.bonds.is_empty() || self.adds_copies(state) || self.adds_constant_inputs(state)
    }

    #[inline(always)]
    fn adds_copies(&self, state: &SystemState) -> bool {
        self.copies_own_outputs && state.units.uniform
    }

    /// Whether it adds bonds as in [`constant_inputs`](super::constant_inputs): inputs and outputs of the state have to be those of
    /// the last macro-step then.
    #[inline(always)]
    pub(crate) fn adds_constant_inputs(&self, state: &SystemState) -> bool {
        !self.adds_copies(state)
            && self.has_constant_inputs
            && state.bonds.correctors.is_empty()
            && state.courses.feed_forward.is_empty()
    }

    /// Adds the macro-steps of the rows, all of this `size`, s. `end_of` gives their ends by their numbers among the rows, s.
    /// `look` receives the powers of each bond, W, and the greatest magnitudes of residual and given power. Inputs and outputs of the
    /// `state` are those of the last of them where they [have to be](Self::adds_constant_inputs).
    pub(crate) fn observe_rows(
        &mut self,
        state: &SystemState,
        rows: &Rows,
        size: f64,
        end_of: &dyn Fn(usize) -> f64,
        look: &mut Look<'_>,
    ) {
        if rows.steps() == 0 {
            return;
        }
        let courses = &state.courses;
        let (used, places) = match state.units.uniform {
            true => (rows, Some(&*courses.sources)),
            false => (courses.in_a_row.used_rows(), None),
        };
        let used = Used {
            rows: used,
            places,
            start_changes: &state.signals.start_changes,
        };
        let is_constant = self.adds_constant_inputs(state);
        let mut steps = Steps {
            rows,
            used: is_constant.then_some(used),
            size,
            end_of,
            look,
            has_several: self.bonds.len() > 1,
            // The sum of no numbers.
            made: [-0.0; MOST_STEPS],
            room: &mut self.room,
        };
        steps.add_to_all(&mut self.bonds, &mut self.peak);
        if is_constant {
            for bond in &mut self.bonds {
                bond.find_coupling_error(state);
            }
        }
    }
}

#[inline(always)]
fn greatest_magnitude(values: &[f64]) -> f64 {
    let values = values.iter();
    values.fold(0.0, |most, value| greater(value.abs(), most))
}

impl Steps<'_, '_> {
    /// Adds the macro-steps to all bonds, and to the [`peak`](Ledger::peak) of them together.
    fn add_to_all(&mut self, bonds: &mut [BondAccount], peak: &mut (f64, f64)) {
        let mut first = 0;
        while let Some(bond) = bonds.get(first) {
            let axes = bond.axes.len();
            let others = bonds[first..].iter().take(SIDE_BY_SIDE);
            let alike = others.take_while(|other| other.axes.len() == axes).count();
            self.add_to(Group(&mut bonds[first..first + alike]), first);
            first += alike;
        }
        let made = &self.made[..self.rows.steps()];
        if self.has_several && greatest_magnitude(made) > peak.0.abs() {
            for (step, made) in made.iter().enumerate() {
                if made.abs() > peak.0.abs() {
                    *peak = (*made, (self.end_of)(step));
                }
            }
        }
    }

    /// Adds the macro-steps to bonds of which the `first` one has this number.
    fn add_to(&mut self, mut group: Group<'_>, first: usize) {
        let greatest = match group.0[0].axes.len() {
            1 => self.sum_of::<1>(&mut group),
            2 => self.sum_of::<2>(&mut group),
            3 => self.sum_of::<3>(&mut group),
            _ => self.sum_of::<MOST_AXES>(&mut group),
        };
        let Self {
            room,
            made,
            end_of,
            look,
            ..
        } = self;
        let stride = room.stride;
        let [residual, given, integrated] =
            [&room.residual, &room.given, &room.integrated].map(|all| all.as_flattened());
        let steps = self.rows.steps();
        let Group(bonds) = group;
        if bonds.len() == SIDE_BY_SIDE && bonds.iter().all(|bond| bond.is_power) {
            for (made, own) in made.iter_mut().zip(&room.integrated).take(steps) {
                *made = own.iter().fold(*made, |made, own| made + own);
            }
        } else if self.has_several {
            for (index, _) in bonds.iter().enumerate().filter(|(_, bond)| bond.is_power) {
                let own = integrated[index..].iter().step_by(stride);
                for (made, own) in made.iter_mut().zip(own).take(steps) {
                    *made += own;
                }
            }
        }
        for (index, bond) in bonds.iter_mut().enumerate() {
            let [most_residual, most_given, made] = greatest.map(|each| each[index]);
            let sums = &mut bond.energy;
            let at = |step: usize| step * stride + index;
            if most_residual > sums.max_residual_power
                || made > sums.peak_residual_energy_integrated.abs()
            {
                let in_step = |step: usize| [residual[at(step)], integrated[at(step)]];
                sums.keep_peaks_of((0..steps).map(in_step), *end_of);
            }
            let of = |step: usize| [residual[at(step)], given[at(step)]];
            let powers = Powers { steps, of: &of };
            look(first + index, powers, [most_residual, most_given]);
        }
    }

    /// Adds the macro-steps to the sums of bonds of so many `AXES`. Returns the greatest magnitudes of residual power and given
    /// power, W, and of the integrated residual energy, J.
    fn sum_of<const AXES: usize>(&mut self, group: &mut Group<'_>) -> [Each; 3] {
        let (rows, size, room) = (self.rows, self.size, &mut *self.room);
        if let Some(used) = self.used {
            room.stride = SIDE_BY_SIDE;
            return with_wide_registers(SumOfConstantInputs::<AXES> {
                rows,
                used,
                size,
                group,
                room,
            });
        }
        if let [bond] = &mut *group.0 {
            room.stride = 1;
            return with_wide_registers(SumInTime::<AXES> {
                rows,
                size,
                bond,
                room,
            });
        }
        room.stride = SIDE_BY_SIDE;
        with_wide_registers(SumOfCopies::<AXES> {
            rows,
            size,
            group,
            room,
        })
    }
}

/// Adds bonds whose inputs are copies of outputs. Each kind of sums is a function of its own: in one function for all, registers are
/// spilled.
struct SumOfCopies<'a, 'b, const AXES: usize> {
    rows: &'a Rows,
    size: f64,
    group: &'a mut Group<'b>,
    room: &'a mut Room,
}

impl<const AXES: usize> Loops for SumOfCopies<'_, '_, AXES> {
    type Output = [Each; 3];

    #[inline(always)]
    fn run<F: Four>(self) -> [Each; 3] {
        let courses = Copies::<F, AXES>::new(self.group, self.rows.after(0), self.size);
        sum(self.group, courses, self.rows, self.size, self.room)
    }
}

/// Adds bonds whose inputs are constant in each macro-step.
struct SumOfConstantInputs<'a, 'b, const AXES: usize> {
    rows: &'a Rows,
    used: Used<'a>,
    size: f64,
    group: &'a mut Group<'b>,
    room: &'a mut Room,
}

impl<const AXES: usize> Loops for SumOfConstantInputs<'_, '_, AXES> {
    type Output = [Each; 3];

    #[inline(always)]
    fn run<F: Four>(self) -> [Each; 3] {
        let used = self.used;
        let place = |input: usize| used.places.map_or(input, |places| places[input] as usize);
        let (changes, size) = (used.start_changes, self.size);
        let courses = ConstantInputs::<F, AXES>::new(self.group, used.rows, place, changes, size);
        sum(self.group, courses, self.rows, size, self.room)
    }
}

/// Adds macro-steps of this `size`, s, to the sums of bonds. Returns as [`Steps::sum_of`].
#[inline(always)]
fn sum<F: Four>(
    group: &mut Group<'_>,
    mut courses: impl Courses<F>,
    rows: &Rows,
    size: f64,
    room: &mut Room,
) -> [Each; 3] {
    let (zero, size) = (F::all(0.0), F::all(size));
    let mut sums = Sums::<F>::of(|value| group.number(value));
    let (mut given, mut received) = (zero, zero);
    let (mut most_residual, mut most_given, mut most_made) = (zero, zero, zero);
    let kept = room.residual.iter_mut().zip(&mut room.given);
    let kept = kept.zip(&mut room.integrated).enumerate();
    let rows = rows.all().skip(1);
    for (row, (step, ((residual_powers, given_powers), integrated))) in rows.zip(kept) {
        let made = courses.go_on(step, row);
        (given, received) = (made.given, made.received);
        let addends = Addends::of(&made, size);
        *residual_powers = addends.residual_power.into();
        *given_powers = given.into();
        sums.add(&addends);
        *integrated = sums.residual_integrated.into();
        most_residual = addends.residual_power.magnitude().or_more(most_residual);
        most_given = given.magnitude().or_more(most_given);
        most_made = sums.residual_integrated.magnitude().or_more(most_made);
    }
    sums.keep(|sum, own| {
        let sums: Each = sum.into();
        for (bond, sum) in group.0.iter_mut().zip(sums) {
            *own(bond) = sum;
        }
    });
    courses.keep(group.0);
    let (given, received): (Each, Each) = (given.into(), received.into());
    for (index, bond) in group.0.iter_mut().enumerate() {
        bond.keep_powers(given[index], received[index]);
    }
    [most_residual, most_given, most_made].map(F::into)
}

impl BondEnergy {
    /// Keeps what is greater than ever before among macro-steps, of which residual power and integrated energy are given, with their times.
    #[cold]
    fn keep_peaks_of(
        &mut self,
        in_steps: impl Iterator<Item = [f64; 2]>,
        end_of: &dyn Fn(usize) -> f64,
    ) {
        for (step, [power, energy]) in in_steps.enumerate() {
            if power.abs() > self.max_residual_power {
                self.max_residual_power = power.abs();
                self.max_residual_power_time = end_of(step);
            }
            if energy.abs() > self.peak_residual_energy_integrated.abs() {
                self.peak_residual_energy_integrated = energy;
                self.peak_residual_energy_integrated_time = end_of(step);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use crate::step::Step;
    use crate::{ClosureUnit, Run, RunOptions, System};

    const H: f64 = 0.25;
    const NAMES: [[&str; 6]; 4] = [
        ["e0", "e1", "e2", "e3", "e4", "e5"],
        ["f0", "f1", "f2", "f3", "f4", "f5"],
        ["p0", "p1", "p2", "p3", "p4", "p5"],
        ["q0", "q1", "q2", "q3", "q4", "q5"],
    ];

    /// A bond for each of the `axes`, of so many, with another sense and gain each. Outputs are random.
    fn bonds(axes: &[usize]) -> Run {
        let mut system = System::new(H);
        system.stop_time(1e3 * H);
        system.method("jacobi").extrapolation("hold");
        for (bond, count) in axes.iter().copied().enumerate() {
            let unit = |inputs: usize, outputs: usize, seed: u64| {
                let at_start = |side: usize| NAMES[side][..count].iter().map(|name| (*name, 0.5));
                let (inputs, outputs) = (at_start(inputs), at_start(outputs));
                let (inputs, outputs): (Vec<_>, Vec<_>) = (inputs.collect(), outputs.collect());
                let mut random = SplitMix64::new(seed);
                ClosureUnit::new(&inputs, &outputs, move |call| {
                    call.outputs.fill_with(|| 4.0 * random.next_unit() - 1.5);
                })
            };
            let (a, b) = (format!("a{bond}"), format!("b{bond}"));
            system.add(&a, unit(3, 0, 2 * bond as u64));
            system.add(&b, unit(2, 1, 2 * bond as u64 + 1));
            let ports = |axis: usize| {
                [(&a, 0), (&b, 2), (&b, 1), (&a, 3)]
                    .map(|(unit, side)| format!("{unit}.{}", NAMES[side][axis]))
            };
            let [e, p, f, q] = ports(0);
            let mut settings = system.bond(&format!("bond{bond}"), (&e, &p), (&f, &q));
            let sense = if bond % 2 == 0 { 1.0 } else { -1.0 };
            settings = settings.sense(sense).gain(1.0 + 0.3 * bond as f64);
            for [e, p, f, q] in (1..count).map(ports) {
                settings = settings.axis((&e, &p), (&f, &q));
            }
        }
        system.start(&RunOptions::default()).unwrap()
    }

    /// Sums, extremes, errors and what the next macro-step needs: to the last bit.
    fn text(ledger: &Ledger) -> String {
        format!("{:#?} {:?}", ledger.bonds, ledger.peak)
    }

    /// Makes macro-steps, and adds them to a ledger one by one and to another in rows of these lengths.
    #[track_caller]
    fn expect_the_same(run: &mut Run, mut one_by_one: Ledger, lengths: &[usize]) {
        let mut in_rows = one_by_one.clone();
        let mut rows = Rows::new(run.state.signals.reals.len());
        let mut index = 0;
        for length in lengths {
            let first = index;
            rows.begin(&run.state.signals.reals);
            let mut powers = vec![Vec::new(); in_rows.bonds.len()];
            for made in 1..=*length {
                run.step().unwrap();
                let clock = &run.state.graph.clock;
                let ticks = clock.ticks_per_step();
                let step = Step {
                    index,
                    from: index.cast_signed() * ticks,
                    length: ticks,
                    time: clock.seconds_after(index),
                    size: H,
                    is_summed: false,
                };
                one_by_one.observe(&run.state, &step);
                for (powers, bond) in powers.iter_mut().zip(one_by_one.bonds()) {
                    powers.push([bond.residual_power, bond.given_power]);
                }
                let (_, next) = rows.last_and_next();
                next.copy_from_slice(&run.state.signals.reals);
                rows.made(made);
                index += 1;
            }
            let end_of = |row: usize| run.state.graph.clock.seconds_after(first + row as u64 + 1);
            let mut seen = vec![Vec::new(); powers.len()];
            let mut look = |bond: usize, powers: Powers<'_>, greatest: [f64; 2]| {
                seen[bond] = (0..powers.steps).map(powers.of).collect();
                let most = |side: usize| {
                    let powers = seen[bond]
                        .iter()
                        .map(|powers: &[f64; 2]| powers[side].abs());
                    powers.fold(0.0, f64::max)
                };
                assert_eq!(greatest, [most(0), most(1)]);
            };
            assert!(in_rows.takes_rows(&run.state));
            in_rows.observe_rows(&run.state, &rows, H, &end_of, &mut look);
            assert_eq!(seen, powers);
            let (found, expected) = (text(&in_rows), text(&one_by_one));
            assert!(found == expected, "{found}\nin place of\n{expected}");
        }
    }

    /// Alone, four together, in groups that end where the number of axes changes, and as many macro-steps as fill the registers or not.
    const CASES: [&[usize]; 7] = [
        &[1],
        &[2],
        &[3],
        &[6],
        &[1, 1, 1, 1],
        &[2, 2, 3],
        &[6, 1, 1, 1, 1, 1, 3],
    ];
    const LENGTHS: [usize; 6] = [1, 8, 2, 7, 3, 4];

    /// Also where a bond carries no power, and does not count in the peak of all.
    #[test]
    fn copies_in_rows_are_added_as_one_by_one() {
        for axes in CASES {
            for is_power in [true, false] {
                let mut run = bonds(axes);
                let mut ledger = Ledger::new(&run.state, true);
                ledger.bonds[0].is_power = is_power;
                assert!(ledger.adds_copies(&run.state));
                expect_the_same(&mut run, ledger, &LENGTHS);
            }
        }
    }

    /// Also where outputs change with new inputs, by an amount that is known or not.
    #[test]
    fn constant_inputs_in_rows_are_added_as_one_by_one() {
        for axes in CASES {
            for change in [0.0, 0.125, f64::NAN] {
                let mut run = bonds(axes);
                run.state.signals.start_changes[0] = change;
                let mut ledger = Ledger::new(&run.state, false);
                ledger.has_constant_inputs = Ledger::has_constant_inputs(&ledger.bonds);
                assert!(ledger.adds_constant_inputs(&run.state));
                expect_the_same(&mut run, ledger, &LENGTHS);
            }
        }
    }
}
