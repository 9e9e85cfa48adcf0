//! Empty: the tests are in `system/`, in one binary.

#![forbid(unsafe_code)]
