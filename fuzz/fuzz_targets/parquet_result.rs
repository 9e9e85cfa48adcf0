#![no_main]

libfuzzer_sys::fuzz_target!(
    // In place of the hook that ends the process also where a panic is caught. The ordinary test of the seeds shows
    // the message of one that is not.
    init: std::panic::set_hook(Box::new(|_| ())),
    |bytes: &[u8]| system_tests::fuzz_inputs::parquet_result(bytes)
);
