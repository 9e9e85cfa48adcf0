//! oscillator-force
