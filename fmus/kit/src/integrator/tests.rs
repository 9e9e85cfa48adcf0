//! Each method against the closed form of its own recursion or of the differential equation.
