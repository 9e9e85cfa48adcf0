//! A look at the head of an ELF file before the system maps it: the loader's own messages for a
//! foreign machine mislead ("no such file"), and a truncated file kills the process with SIGBUS.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use object::Endianness;
use object::elf::{self, Machine};
use object::read::elf::{FileHeader, ProgramHeader as _};

/// Machines by their numbers (ELF specification, `e_machine`).
const MACHINES: &[(Machine, &str)] = &[
    (elf::EM_386, "x86 (32 bit)"),
    (elf::EM_MIPS, "MIPS"),
    (elf::EM_PPC, "PowerPC"),
    (elf::EM_PPC64, "PowerPC 64"),
    (elf::EM_ARM, "ARM (32 bit)"),
    (elf::EM_X86_64, "x86-64"),
    (elf::EM_AARCH64, "AArch64"),
    (elf::EM_RISCV, "RISC-V"),
];

/// Machine this program was built for.
const OWN_MACHINE: Machine = if cfg!(target_arch = "x86_64") {
    elf::EM_X86_64
} else if cfg!(target_arch = "aarch64") {
    elf::EM_AARCH64
} else if cfg!(target_arch = "x86") {
    elf::EM_386
} else if cfg!(target_arch = "arm") {
    elf::EM_ARM
} else if cfg!(any(target_arch = "riscv64", target_arch = "riscv32")) {
    elf::EM_RISCV
} else {
    elf::EM_NONE
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
fn check(bytes: &[u8], length: u64, own_machine: Machine) -> Result<(), String> {
    let check = match bytes {
        [0x7f, b'E', b'L', b'F', 1, ..] => check_header::<elf::FileHeader32<Endianness>>,
        [0x7f, b'E', b'L', b'F', 2, ..] => check_header::<elf::FileHeader64<Endianness>>,
        [0x7f, b'E', b'L', b'F', ..] => return Err("the file is truncated or damaged".to_owned()),
        _ => return Err(format!("not an ELF library{}", guess(bytes))),
    };
    check(bytes, length, own_machine)
}

fn check_header<Elf: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    length: u64,
    own_machine: Machine,
) -> Result<(), String> {
    let damaged = |_| "the file is truncated or damaged".to_owned();
    let header = Elf::parse(bytes).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    let machine = header.e_machine(endian);
    if machine != own_machine {
        return Err(format!(
            "built for {}, this machine is {}",
            machine_name(machine),
            machine_name(own_machine)
        ));
    }
    if header.is_type_64() != cfg!(target_pointer_width = "64") {
        let width = if header.is_type_64() { 64 } else { 32 };
        return Err(format!("built for {width} bit"));
    }
    let segments = match header.program_headers(endian, bytes) {
        Ok(segments) => segments.iter(),
        // The table of segments is further back than in any usual file: the system will judge.
        Err(_) if length > HEAD => return Ok(()),
        Err(error) => return Err(damaged(error)),
    };
    let end = segments.map(|segment| {
        let (offset, size) = segment.file_range(endian);
        offset.saturating_add(size)
    });
    match end.max() {
        Some(end) if end > length => Err(format!(
            "the file is truncated: it has {length} bytes, its segments need {end}"
        )),
        _ => Ok(()),
    }
}

fn machine_name(machine: Machine) -> String {
    let known = MACHINES.iter().find(|(number, _)| *number == machine);
    known.map_or_else(
        || format!("machine number {}", machine.0),
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
        // Numbers in little-endian order, version 1.
        bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1_u16.to_le_bytes());
        bytes[64 + 32..64 + 40].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    fn checked(bytes: &[u8]) -> Result<(), String> {
        check(bytes, bytes.len() as u64, elf::EM_X86_64)
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
