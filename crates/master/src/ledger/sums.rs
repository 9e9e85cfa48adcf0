//! Sums and extremes of bonds over the macro-steps: those of one bond in doubles, of several or over several macro-steps in wide
//! registers. Each is added up in the order of the macro-steps.

use gyrator_thread_team::Number;

use super::BondAccount;

/// Powers of a bond in a macro-step, at its end, and what they add to integrals.
#[derive(Clone, Copy)]
pub(super) struct Made<N> {
    /// W.
    pub(super) given: N,
    pub(super) received: N,
    /// Energies, J.
    pub(super) residual_integrated: N,
    pub(super) transferred_integrated: N,
    pub(super) curvature: N,
}

/// Terms of a macro-step in the sums.
#[derive(Clone, Copy)]
pub(super) struct Addends<N> {
    /// Residual and given power, W.
    pub(super) residual_power: N,
    pub(super) given_power: N,
    /// Energies, J.
    pub(super) transferred: N,
    pub(super) residual: N,
    pub(super) applied_residual: N,
    pub(super) residual_integrated: N,
    pub(super) transferred_integrated: N,
    pub(super) curvature: N,
}

impl<N: Number> Addends<N> {
    /// Of a macro-step of this `size`, s, without corrections.
    #[inline(always)]
    pub(super) fn of(made: &Made<N>, size: N) -> Self {
        let residual_power = made.received - made.given;
        let residual = residual_power * size;
        Self {
            residual_power,
            given_power: made.given,
            transferred: made.given * size,
            residual,
            applied_residual: residual,
            residual_integrated: made.residual_integrated,
            transferred_integrated: made.transferred_integrated,
            curvature: made.curvature,
        }
    }
}

/// Sums and extremes, J.
#[derive(Clone, Copy)]
pub(super) struct Sums<N> {
    pub(super) transferred: N,
    pub(super) transferred_abs: N,
    pub(super) transferred_integrated: N,
    pub(super) residual: N,
    pub(super) residual_abs: N,
    pub(super) residual_integrated: N,
    pub(super) applied_residual: N,
    pub(super) curvature: N,
    /// Of the terms of `curvature`, J².
    pub(super) squares: N,
    pub(super) least: N,
    pub(super) greatest: N,
}

impl<N: Number> Sums<N> {
    /// The sums of bonds, of which `number` gives a number each.
    #[inline(always)]
    pub(super) fn of(number: impl Fn(fn(&BondAccount) -> f64) -> N) -> Self {
        Self {
            transferred: number(|bond| bond.energy.transferred_energy),
            transferred_abs: number(|bond| bond.energy.transferred_energy_abs),
            transferred_integrated: number(|bond| bond.energy.transferred_energy_integrated),
            residual: number(|bond| bond.energy.residual_energy),
            residual_abs: number(|bond| bond.energy.residual_energy_abs),
            residual_integrated: number(|bond| bond.energy.residual_energy_integrated),
            applied_residual: number(|bond| bond.energy.applied_residual_energy),
            curvature: number(|bond| bond.error.curvature),
            squares: number(|bond| bond.error.squares),
            least: number(|bond| bond.least),
            greatest: number(|bond| bond.greatest),
        }
    }

    /// Adds a macro-step.
    #[inline(always)]
    pub(super) fn add(&mut self, step: &Addends<N>) {
        self.transferred = self.transferred + step.transferred;
        self.transferred_abs = self.transferred_abs + step.transferred.magnitude();
        self.least = self.transferred.or_less(self.least);
        self.greatest = self.transferred.or_more(self.greatest);
        self.residual = self.residual + step.residual;
        self.applied_residual = self.applied_residual + step.applied_residual;
        self.residual_abs = self.residual_abs + step.residual.magnitude();
        self.residual_integrated = self.residual_integrated + step.residual_integrated;
        self.transferred_integrated = self.transferred_integrated + step.transferred_integrated;
        self.curvature = self.curvature + step.curvature;
        self.squares = self.squares + step.curvature * step.curvature;
    }

    /// Gives the bonds their sums, by a function that receives a number of each, and its place.
    #[inline(always)]
    pub(super) fn keep(&self, mut give: impl FnMut(N, fn(&mut BondAccount) -> &mut f64)) {
        give(self.transferred, |bond| &mut bond.energy.transferred_energy);
        give(self.transferred_abs, |bond| {
            &mut bond.energy.transferred_energy_abs
        });
        give(self.transferred_integrated, |bond| {
            &mut bond.energy.transferred_energy_integrated
        });
        give(self.residual, |bond| &mut bond.energy.residual_energy);
        give(self.residual_abs, |bond| {
            &mut bond.energy.residual_energy_abs
        });
        give(self.residual_integrated, |bond| {
            &mut bond.energy.residual_energy_integrated
        });
        give(self.applied_residual, |bond| {
            &mut bond.energy.applied_residual_energy
        });
        give(self.curvature, |bond| &mut bond.error.curvature);
        give(self.squares, |bond| &mut bond.error.squares);
        give(self.least, |bond| &mut bond.least);
        give(self.greatest, |bond| &mut bond.greatest);
    }
}

impl Sums<f64> {
    /// The sums of one bond.
    #[inline(always)]
    pub(super) fn of_bond(bond: &BondAccount) -> Self {
        Self::of(|number| number(bond))
    }

    #[inline(always)]
    pub(super) fn keep_in(&self, bond: &mut BondAccount) {
        self.keep(|sum, own| *own(bond) = sum);
    }
}
