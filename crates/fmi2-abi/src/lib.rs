//! fmi2-abi
