//! Members that a thread steps, with the courses of their inputs. Only steps on several threads lend them; nothing is computed here.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::{Courses, InputCourse, Member};
use crate::step::Step;
use crate::time::Clock;

/// Members that lie together.
struct Job<'a> {
    members: &'a mut [Member],
    inputs: &'a mut [InputCourse],
    values: &'a mut [f64],
}

/// Jobs of a step, by the places of their pieces. A thread takes one by its lock, which no other one wants.
pub(crate) struct Lent<'a>(Vec<Mutex<Job<'a>>>);

/// Room for the jobs of a step, so that no step allocates.
#[derive(Default)]
pub(crate) struct Jobs(Vec<Mutex<Job<'static>>>);

impl Jobs {
    /// Borrows the members of these pieces, ascending.
    pub(crate) fn lend<'a>(
        &mut self,
        members: &'a mut [Member],
        courses: &'a mut Courses,
        pieces: &[Range<usize>],
    ) -> Lent<'a> {
        let (mut inputs, mut values) = (&mut *courses.inputs, &mut *courses.values);
        let (mut members, mut at, mut input) = (members, 0, 0);
        let mut jobs = emptied(std::mem::take(&mut self.0));
        for piece in pieces {
            let (_, from) = members.split_at_mut(piece.start - at);
            let (own, rest) = from.split_at_mut(piece.len());
            let first = own.first().map_or(input, |member| member.inputs.start);
            let end = own.last().map_or(first, |member| member.inputs.end);
            let (_, from) = inputs.split_at_mut(first - input);
            let (own_inputs, rest_inputs) = from.split_at_mut(end - first);
            let (_, from) = values.split_at_mut(first - input);
            let (own_values, rest_values) = from.split_at_mut(end - first);
            jobs.push(Mutex::new(Job {
                members: own,
                inputs: own_inputs,
                values: own_values,
            }));
            (members, inputs, values) = (rest, rest_inputs, rest_values);
            (at, input) = (piece.end, end);
        }
        Lent(jobs)
    }

    /// Takes the room back.
    pub(crate) fn take_back(&mut self, lent: Lent<'_>) {
        self.0 = emptied(lent.0);
    }
}

impl Lent<'_> {
    /// Steps the members of a piece; each keeps its own fault.
    pub(crate) fn step(&self, piece: usize, step: &Step, clock: &Clock) {
        let mut job = self.0[piece].lock().unwrap_or_else(PoisonError::into_inner);
        let Job {
            members,
            inputs,
            values,
        } = &mut *job;
        let start = members.first().map_or(0, |member| member.inputs.start);
        for member in members.iter_mut() {
            let own = member.inputs.start - start..member.inputs.end - start;
            let (inputs, values) = (&mut inputs[own.clone()], &mut values[own]);
            member.fault = member.advance(inputs, values, step, clock).err();
        }
    }
}

/// The same room without jobs: collecting into another lifetime keeps the allocation.
fn emptied<'a>(mut jobs: Vec<Mutex<Job<'_>>>) -> Vec<Mutex<Job<'a>>> {
    jobs.clear();
    let none = jobs.into_iter();
    none.map(|_| unreachable!("the room is empty")).collect()
}
