//! How much memory a process uses.

/// Memory of this process that is really there, bytes; unknown without `/proc`.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    read("/proc/self/statm")
}

/// The same of the process of this number.
#[must_use]
pub fn resident_bytes_of(process: u32) -> Option<u64> {
    read(&format!("/proc/{process}/statm"))
}

/// Memory of the process of this number that is really there and shared with no other process, bytes.
#[must_use]
pub fn own_bytes_of(process: u32) -> Option<u64> {
    let path = format!("/proc/{process}/statm");
    column(&path, RESIDENT)?.checked_sub(column(&path, SHARED)?)
}

/// Columns of `statm`, in pages.
const RESIDENT: usize = 1;
const SHARED: usize = 2;

fn read(path: &str) -> Option<u64> {
    column(path, RESIDENT)
}

#[cfg(unix)]
fn column(path: &str, column: usize) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let pages: u64 = text.split(' ').nth(column)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[cfg(not(unix))]
fn column(_path: &str, _column: usize) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Set in the process of its own that the test runs in: other tests take and free memory meanwhile.
    const ALONE: &str = "GYRATOR_TEST_OF_MEMORY_ALONE";

    const TAKEN: usize = 32 << 20;

    #[test]
    fn memory_that_is_written_to_is_there() {
        if std::env::var_os(ALONE).is_none() {
            let test = "memory::tests::memory_that_is_written_to_is_there";
            let alone = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", test])
                .env(ALONE, "1")
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&alone.stdout);
            assert!(alone.status.success(), "{text}");
            assert!(text.contains("1 passed"), "{text}");
            return;
        }
        let before = resident_bytes().unwrap();
        let taken = std::hint::black_box(vec![1_u8; TAKEN]);
        let after = resident_bytes().unwrap();
        drop(taken);
        let grown = after.saturating_sub(before);
        assert!(
            (TAKEN as u64 / 2..2 * TAKEN as u64).contains(&grown),
            "{grown}"
        );
        let known = resident_bytes_of(std::process::id()).unwrap();
        assert!(known > 1 << 20, "{known}");
        assert!(own_bytes_of(std::process::id()).unwrap() < known);
        assert_eq!(resident_bytes_of(u32::MAX), None);
    }
}
