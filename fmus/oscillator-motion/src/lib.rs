//! oscillator-motion
