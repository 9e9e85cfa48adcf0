//! A look at the head of an ELF file before the system maps it: the loader's own messages for a
//! foreign machine mislead ("no such file"), and a truncated file kills the process with SIGBUS.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Machine numbers (ELF specification, `e_machine`).
const MACHINES: &[(u16, &str)] = &[
    (3, "x86 (32 bit)"),
    (8, "MIPS"),
    (20, "PowerPC"),
    (21, "PowerPC 64"),
    (40, "ARM (32 bit)"),
    (62, "x86-64"),
    (183, "AArch64"),
    (243, "RISC-V"),
];

/// Machine this program was built for.
const OWN_MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    62
} else if cfg!(target_arch = "aarch64") {
    183
} else if cfg!(target_arch = "x86") {
    3
} else if cfg!(target_arch = "arm") {
    40
} else if cfg!(any(target_arch = "riscv64", target_arch = "riscv32")) {
    243
} else {
    0
};

/// Bytes of the file that [`check`] looks at: linkers put all headers there.
const HEAD: u64 = 64 * 1024;

/// Says why the file cannot be loaded on this machine, if that can be seen.
pub(crate) fn check_file(path: &Path) -> std::io::Result<Result<(), String>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    Ok(check(&head, length, OWN_MACHINE))
}

/// The libraries of a directory that cannot be loaded on this machine, and why.
pub(crate) fn broken_libraries(directory: &Path) -> std::io::Result<Vec<(String, String)>> {
    let mut broken = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_library = name.ends_with(".so") || name.contains(".so.");
        if is_library
            && entry.file_type()?.is_file()
            && let Err(reason) = check_file(&entry.path())?
        {
            broken.push((name, reason));
        }
    }
    broken.sort();
    Ok(broken)
}

/// Looks at the head of a file of `length` bytes.
fn check(bytes: &[u8], length: u64, own_machine: u16) -> Result<(), String> {
    if !bytes.starts_with(b"\x7fELF") {
        return Err(format!("not an ELF library{}", guess(bytes)));
    }
    let truncated = || "the file is truncated".to_owned();
    let class = *bytes.get(4).ok_or_else(truncated)?;
    let machine = number(bytes, 18, 2).ok_or_else(truncated)?;
    if machine != u64::from(own_machine) {
        return Err(format!(
            "built for {}, this machine is {}",
            machine_name(machine),
            machine_name(u64::from(own_machine))
        ));
    }
    if (class == 2) != cfg!(target_pointer_width = "64") {
        return Err(format!(
            "built for {} bit",
            if class == 2 { 64 } else { 32 }
        ));
    }
    match segments_end(bytes, class == 2) {
        Some(end) if end <= length => Ok(()),
        Some(end) => Err(format!(
            "the file is truncated: it has {length} bytes, its segments need {end}"
        )),
        // The table of segments is further back than anybody puts it: the system will judge.
        None if length > HEAD => Ok(()),
        None => Err(truncated()),
    }
}

/// End of the segment that reaches furthest into the file.
fn segments_end(bytes: &[u8], wide: bool) -> Option<u64> {
    let (table, size_at, count_at) = if wide {
        ((32, 8), 54, 56)
    } else {
        ((28, 4), 42, 44)
    };
    let start = number(bytes, table.0, table.1)?;
    let size = number(bytes, size_at, 2)?;
    let count = number(bytes, count_at, 2)?;
    let (offset_at, length_at, width) = if wide { (8, 32, 8) } else { (4, 16, 4) };
    let mut end = 0;
    for index in 0..count {
        let header = usize::try_from(start.checked_add(index.checked_mul(size)?)?).ok()?;
        let offset = number(bytes, header.checked_add(offset_at)?, width)?;
        let length = number(bytes, header.checked_add(length_at)?, width)?;
        end = end.max(offset.checked_add(length)?);
    }
    Some(end)
}

/// A number in the byte order that every supported machine uses.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(width)?)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

fn machine_name(machine: u64) -> String {
    let known = MACHINES
        .iter()
        .find(|(number, _)| u64::from(*number) == machine);
    known.map_or_else(
        || format!("machine number {machine}"),
        |(_, name)| (*name).to_owned(),
    )
}

fn guess(bytes: &[u8]) -> &'static str {
    match bytes {
        [] => "; the file is empty",
        [b'M', b'Z', ..] => "; it is one for Windows",
        [0xcf, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => "; it is one for macOS",
        [b'v', b'e', b'r', b's', b'i', b'o', b'n', b' ', ..] => "; it looks like a git-lfs pointer",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(class: u8, machine: u16, length: u64) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', class]);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1_u16.to_le_bytes());
        bytes[64 + 32..64 + 40].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    fn checked(bytes: &[u8]) -> Result<(), String> {
        check(bytes, bytes.len() as u64, 62)
    }

    #[test]
    fn r17_other_machine_is_named() {
        let error = checked(&header(2, 183, 0)).unwrap_err();
        assert_eq!(error, "built for AArch64, this machine is x86-64");
    }

    #[test]
    fn r18_truncated_file_is_seen_before_it_is_mapped() {
        assert_eq!(checked(&header(2, 62, 120)), Ok(()));
        assert!(
            checked(&header(2, 62, 121))
                .unwrap_err()
                .contains("truncated")
        );
        assert!(
            checked(&header(2, 62, 0)[..100])
                .unwrap_err()
                .contains("truncated")
        );
        assert!(checked(&header(2, 62, u64::MAX)).is_err());
    }

    #[test]
    fn r17_files_of_other_systems_are_named() {
        assert!(checked(b"MZ\x90").unwrap_err().contains("Windows"));
        assert!(checked(b"").unwrap_err().contains("empty"));
        assert!(
            checked(b"version https://git-lfs")
                .unwrap_err()
                .contains("git-lfs")
        );
    }

    #[test]
    fn no_prefix_of_a_header_panics() {
        let bytes = header(2, 62, u64::MAX - 3);
        for end in 0..bytes.len() {
            let _ = checked(&bytes[..end]);
        }
    }
}
