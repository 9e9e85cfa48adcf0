//! The ledger over some macro-steps in a row: the same sums as step by step, but some bonds after the others, so that their sums stay
//! in registers.

use gyrator_thread_team::{Four, Loops, One, with_wide_registers};

use super::constant_inputs::ConstantInputs;
use super::copies::Copies;
use super::{BondAccount, BondEnergy, Ledger};
use crate::extremes::greater;
use crate::rows::{MOST_STEPS, Rows};
use crate::state::SystemState;

/// Bonds that are added side by side.
const SIDE_BY_SIDE: usize = 4;

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

/// Powers of the bonds in a macro-step, at its end, and what they add to integrals.
pub(super) struct Made<F> {
    /// W.
    pub(super) given: F,
    pub(super) received: F,
    /// Energies, J.
    pub(super) residual_integrated: F,
    pub(super) transferred_integrated: F,
    pub(super) curvature: F,
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
    /// Integrated residual energy of all power bonds by macro-step, J.
    made: [f64; MOST_STEPS],
    room: &'a mut Room,
}

/// Residual and given powers, W, and integrated residual energies, J, of the bonds that were added last.
#[derive(Clone)]
pub(super) struct Room {
    residual: ByStep,
    given: ByStep,
    integrated: ByStep,
}

impl Default for Room {
    fn default() -> Self {
        let [residual, given, integrated] = [[[0.0; SIDE_BY_SIDE]; MOST_STEPS]; 3];
        Self {
            residual,
            given,
            integrated,
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
        let steps = Steps {
            rows,
            used: is_constant.then_some(used),
            size,
            end_of,
            look,
            // The sum of no numbers.
            made: [-0.0; MOST_STEPS],
            room: &mut self.room,
        };
        with_wide_registers(Observation {
            bonds: &mut self.bonds,
            peak: &mut self.peak,
            steps,
        });
        if is_constant {
            for bond in &mut self.bonds {
                bond.find_coupling_error(state);
            }
        }
    }
}

/// Does the work of [`Ledger::observe_rows`].
struct Observation<'a, 'b> {
    bonds: &'a mut [BondAccount],
    /// As [`Ledger::peak`].
    peak: &'a mut (f64, f64),
    steps: Steps<'a, 'b>,
}

impl Loops for Observation<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self {
            bonds,
            peak,
            mut steps,
        } = self;
        let mut first = 0;
        while let Some(bond) = bonds.get(first) {
            let axes = bond.axes.len();
            let others = bonds[first..].iter().take(SIDE_BY_SIDE);
            let alike = others.take_while(|other| other.axes.len() == axes).count();
            let group = Group(&mut bonds[first..first + alike]);
            steps.add_to::<F>(group, first);
            first += alike;
        }
        let made = &steps.made[..steps.rows.steps()];
        if bonds.len() > 1 && greatest_magnitude(made) > peak.0.abs() {
            for (step, made) in made.iter().enumerate() {
                if made.abs() > peak.0.abs() {
                    *peak = (*made, (steps.end_of)(step));
                }
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
    /// Adds the macro-steps to bonds of which the `first` one has this number.
    #[inline(always)]
    fn add_to<F: Four>(&mut self, mut group: Group<'_>, first: usize) {
        let greatest = match group.0[0].axes.len() {
            1 => self.sum_of::<F, 1>(&mut group),
            2 => self.sum_of::<F, 2>(&mut group),
            3 => self.sum_of::<F, 3>(&mut group),
            _ => self.sum_of::<F, MOST_AXES>(&mut group),
        };
        let Self {
            room,
            made,
            end_of,
            look,
            ..
        } = self;
        let Room {
            residual,
            given,
            integrated,
        } = &**room;
        let steps = self.rows.steps();
        let Group(bonds) = group;
        if bonds.len() == SIDE_BY_SIDE && bonds.iter().all(|bond| bond.is_power) {
            for (made, own) in made.iter_mut().zip(integrated).take(steps) {
                *made = own.iter().fold(*made, |made, own| made + own);
            }
        } else {
            for (index, _) in bonds.iter().enumerate().filter(|(_, bond)| bond.is_power) {
                for (made, own) in made.iter_mut().zip(integrated).take(steps) {
                    *made += own[index];
                }
            }
        }
        for (index, bond) in bonds.iter_mut().enumerate() {
            let [most_residual, most_given, made] = greatest.map(|each| each[index]);
            let sums = &mut bond.energy;
            if most_residual > sums.max_residual_power
                || made > sums.peak_residual_energy_integrated.abs()
            {
                let in_step = |step: usize| [residual[step][index], integrated[step][index]];
                sums.keep_peaks_of((0..steps).map(in_step), *end_of);
            }
            let of = |step: usize| [residual[step][index], given[step][index]];
            let powers = Powers { steps, of: &of };
            look(first + index, powers, [most_residual, most_given]);
        }
    }

    /// As [`sum`](Self::sum) for bonds of so many `AXES`.
    #[inline(always)]
    fn sum_of<F: Four, const AXES: usize>(&mut self, group: &mut Group<'_>) -> [Each; 3] {
        let before = self.rows.after(0);
        if let Some(used) = self.used {
            let place = |input: usize| used.places.map_or(input, |places| places[input] as usize);
            let (changes, size) = (used.start_changes, self.size);
            let courses = ConstantInputs::<F, AXES>::new(group, used.rows, place, changes, size);
            return self.sum(group, courses);
        }
        match group.0.len() {
            1 => self.sum(group, Copies::<One, AXES>::new(group, before, self.size)),
            _ => self.sum(group, Copies::<F, AXES>::new(group, before, self.size)),
        }
    }

    /// Adds the macro-steps to the sums of bonds. Returns the greatest magnitudes of residual power and given power, W, and of the
    /// integrated residual energy, J.
    #[inline(always)]
    fn sum<F: Four>(&mut self, group: &mut Group<'_>, mut courses: impl Courses<F>) -> [Each; 3] {
        let (zero, size) = (F::all(0.0), F::all(self.size));
        let mut sums = Sums::<F>::of(group);
        let (mut given, mut received) = (zero, zero);
        let (mut most_residual, mut most_given, mut most_made) = (zero, zero, zero);
        let room = &mut *self.room;
        let kept = room.residual.iter_mut().zip(&mut room.given);
        let kept = kept.zip(&mut room.integrated).enumerate();
        let rows = self.rows.all().skip(1);
        for (row, (step, ((residual_powers, given_powers), integrated))) in rows.zip(kept) {
            let made = courses.go_on(step, row);
            (given, received) = (made.given, made.received);
            let residual = received - given;
            residual.write(residual_powers);
            given.write(given_powers);
            let transferred = given * size;
            sums.transferred = sums.transferred + transferred;
            sums.transferred_abs = sums.transferred_abs + transferred.abs();
            sums.least = sums.transferred.or_less(sums.least);
            sums.greatest = sums.transferred.or_more(sums.greatest);
            let residual_energy = residual * size;
            sums.residual = sums.residual + residual_energy;
            sums.applied_residual = sums.applied_residual + residual_energy;
            sums.residual_abs = sums.residual_abs + residual_energy.abs();
            sums.residual_integrated = sums.residual_integrated + made.residual_integrated;
            sums.residual_integrated.write(integrated);
            sums.transferred_integrated = sums.transferred_integrated + made.transferred_integrated;
            sums.curvature = sums.curvature + made.curvature;
            most_residual = residual.abs().or_more(most_residual);
            most_given = given.abs().or_more(most_given);
            most_made = sums.residual_integrated.abs().or_more(most_made);
        }
        sums.keep(group);
        courses.keep(group.0);
        let (given, received): (Each, Each) = (given.into(), received.into());
        for (index, bond) in group.0.iter_mut().enumerate() {
            let energy = &mut bond.energy;
            energy.given_power = given[index];
            energy.received_power = received[index];
            energy.residual_power = received[index] - given[index];
            energy.applied_residual_power = energy.residual_power;
        }
        [most_residual, most_given, most_made].map(F::into)
    }
}

/// Sums and extremes of some bonds, sum by sum: each is one register.
struct Sums<F> {
    transferred: F,
    transferred_abs: F,
    transferred_integrated: F,
    residual: F,
    residual_abs: F,
    residual_integrated: F,
    applied_residual: F,
    curvature: F,
    least: F,
    greatest: F,
}

impl<F: Four> Sums<F> {
    #[inline(always)]
    fn of(group: &Group<'_>) -> Self {
        let each = |value: fn(&BondAccount) -> f64| group.number(value);
        Self {
            transferred: each(|bond| bond.energy.transferred_energy),
            transferred_abs: each(|bond| bond.energy.transferred_energy_abs),
            transferred_integrated: each(|bond| bond.energy.transferred_energy_integrated),
            residual: each(|bond| bond.energy.residual_energy),
            residual_abs: each(|bond| bond.energy.residual_energy_abs),
            residual_integrated: each(|bond| bond.energy.residual_energy_integrated),
            applied_residual: each(|bond| bond.energy.applied_residual_energy),
            curvature: each(|bond| bond.error.curvature),
            least: each(|bond| bond.least),
            greatest: each(|bond| bond.greatest),
        }
    }

    #[inline(always)]
    fn keep(self, Group(bonds): &mut Group<'_>) {
        let mut keep = |sum: F, own: fn(&mut BondAccount) -> &mut f64| {
            let sums: Each = sum.into();
            for (bond, sum) in bonds.iter_mut().zip(sums) {
                *own(bond) = sum;
            }
        };
        keep(self.transferred, |bond| &mut bond.energy.transferred_energy);
        keep(self.transferred_abs, |bond| {
            &mut bond.energy.transferred_energy_abs
        });
        keep(self.transferred_integrated, |bond| {
            &mut bond.energy.transferred_energy_integrated
        });
        keep(self.residual, |bond| &mut bond.energy.residual_energy);
        keep(self.residual_abs, |bond| {
            &mut bond.energy.residual_energy_abs
        });
        keep(self.residual_integrated, |bond| {
            &mut bond.energy.residual_energy_integrated
        });
        keep(self.applied_residual, |bond| {
            &mut bond.energy.applied_residual_energy
        });
        keep(self.curvature, |bond| &mut bond.error.curvature);
        keep(self.least, |bond| &mut bond.least);
        keep(self.greatest, |bond| &mut bond.greatest);
    }
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
