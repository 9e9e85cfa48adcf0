#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gyrator_fuzz_inputs::remote_messages(bytes));
