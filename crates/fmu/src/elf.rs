//! What an ELF file says before the system loads it. All that gyrator reads of ELF files is here.
//!
//! - Whether this machine can load it: the system's own messages for a foreign machine mislead ("no such
//!   file"), and a truncated file ends the process with SIGBUS.
//! - What it asks of the process that loads it: libraries, symbols, thread-local variables, unique symbols.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use object::elf::{self, Machine};
use object::read::StringTable;
use object::read::elf::{Dyn as _, FileHeader, GnuHashTable, HashTable, ProgramHeader, Sym as _};
use object::{Endianness, FileKind, pod};

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

/// Search paths for libraries that a library itself names.
#[derive(Debug, Default)]
pub(crate) struct RunPaths {
    /// `DT_RPATH`; counts only without `DT_RUNPATH`.
    pub(crate) rpath: String,
    /// `DT_RUNPATH`.
    pub(crate) runpath: String,
}

/// What a library asks of the process that loads it.
#[derive(Debug, Default)]
pub(crate) struct Binary {
    /// Libraries that it needs (`DT_NEEDED`).
    pub(crate) needed: Vec<String>,
    pub(crate) run_paths: RunPaths,
    /// Symbols that it has for others.
    pub(crate) defined: BTreeSet<String>,
    /// Symbols that some other library has to have.
    pub(crate) undefined: BTreeSet<String>,
    /// Symbols that exist once in a process, for all libraries (`STB_GNU_UNIQUE`).
    pub(crate) unique: usize,
    /// It has variables that exist once in each thread (`PT_TLS`).
    pub(crate) is_thread_local: bool,
}

impl Binary {
    /// Reads the tables of a library; `None` if it has none that can be read.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        Self::parse(&bytes)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        match FileKind::parse(bytes) {
            Ok(FileKind::Elf32) => Self::from_elf::<elf::FileHeader32<Endianness>>(bytes),
            Ok(FileKind::Elf64) => Self::from_elf::<elf::FileHeader64<Endianness>>(bytes),
            _ => None,
        }
    }

    fn from_elf<Elf: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Option<Self> {
        let tables = DynamicTables::<Elf>::read(bytes)?;
        let endian = tables.endian;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut binary = Self::default();
        for entry in tables.entries {
            let Ok(value) = entry.string(endian, tables.strings).map(text) else {
                continue;
            };
            match entry.tag(endian) {
                elf::DT_NEEDED => binary.needed.push(value),
                elf::DT_RPATH => binary.run_paths.rpath = value,
                elf::DT_RUNPATH => binary.run_paths.runpath = value,
                _ => {}
            }
        }
        let is_thread_local = |segment: &Elf::ProgramHeader| {
            segment.p_type(endian) == elf::PT_TLS && segment.p_memsz(endian).into() > 0
        };
        binary.is_thread_local = tables.segments.iter().any(is_thread_local);
        let symbols = bytes.get(tables.symbols)?;
        let symbols: &[Elf::Sym] = pod::slice_from_all_bytes(symbols).ok()?;
        for symbol in symbols.iter().skip(1) {
            let Ok(name) = symbol.name(endian, tables.strings).map(text) else {
                continue;
            };
            if !symbol.is_undefined(endian) {
                binary.unique += usize::from(symbol.st_bind() == elf::STB_GNU_UNIQUE);
                binary.defined.insert(name);
            } else if symbol.st_bind() == elf::STB_GLOBAL {
                binary.undefined.insert(name);
            }
        }
        Some(binary)
    }
}

/// The tables of a library that the dynamic loader uses. It finds them by their addresses (`PT_DYNAMIC`), so that they are
/// there in a library without section headers also.
struct DynamicTables<'a, Elf: FileHeader> {
    endian: Endianness,
    segments: &'a [Elf::ProgramHeader],
    entries: &'a [Elf::Dyn],
    strings: StringTable<'a>,
    /// Bytes of the symbols in the file.
    symbols: Range<usize>,
}

impl<'a, Elf: FileHeader<Endian = Endianness>> DynamicTables<'a, Elf> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let header = Elf::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, bytes).ok()?;
        let dynamic = |segment: &Elf::ProgramHeader| segment.dynamic(endian, bytes).ok()?;
        let entries = segments.iter().find_map(dynamic)?;
        let is_end = |entry: &Elf::Dyn| entry.tag(endian) == elf::DT_NULL;
        let end = entries.iter().position(is_end).unwrap_or(entries.len());
        let entries = &entries[..end];
        let value = |tag| {
            let entry = entries.iter().find(|entry| entry.tag(endian) == tag)?;
            Some(entry.d_val(endian).into())
        };
        let place = |tag| place_of(segments, endian, value(tag)?);
        let texts = place(elf::DT_STRTAB)?;
        let texts_end = texts.checked_add(usize::try_from(value(elf::DT_STRSZ)?).ok()?)?;
        let strings = StringTable::new(bytes, texts as u64, texts_end as u64);
        let first = place(elf::DT_SYMTAB)?;
        let hashes = |tag| bytes.get(place(tag)?..);
        let by_hash = || HashTable::<Elf>::parse(endian, hashes(elf::DT_HASH)?).ok();
        let by_gnu_hash = || GnuHashTable::<Elf>::parse(endian, hashes(elf::DT_GNU_HASH)?).ok();
        let count = by_hash()
            .map(|table| table.symbol_table_length())
            .or_else(|| by_gnu_hash()?.symbol_table_length(endian))
            .and_then(|count| usize::try_from(count).ok());
        // Tables of hashes do not count the symbols of a library that has none for others. Linkers put the names behind them.
        let size = size_of::<Elf::Sym>();
        let count = count.unwrap_or(texts.saturating_sub(first) / size);
        let symbols = first..first.checked_add(count.checked_mul(size)?)?;
        Some(Self {
            endian,
            segments,
            entries,
            strings,
            symbols,
        })
    }
}

/// Offset in the file of the byte that a library has at this address.
fn place_of<Segment: ProgramHeader>(
    segments: &[Segment],
    endian: Segment::Endian,
    address: u64,
) -> Option<usize> {
    let mut loaded = segments
        .iter()
        .filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let place = loaded.find_map(|segment| {
        let (start, size) = segment.file_range(endian);
        let within = address.checked_sub(segment.p_vaddr(endian).into())?;
        start.checked_add(within).filter(|_| within < size)
    });
    usize::try_from(place?).ok()
}

/// Names of the symbols that an ELF library has for others; empty for files of other formats.
#[must_use]
pub fn exported_symbols(bytes: &[u8]) -> BTreeSet<String> {
    Binary::parse(bytes).unwrap_or_default().defined
}

/// Names of the libraries that an ELF library needs (`DT_NEEDED`); empty for files of other formats.
#[must_use]
pub fn needed_libraries(bytes: &[u8]) -> Vec<String> {
    Binary::parse(bytes).unwrap_or_default().needed
}

/// Makes the unique symbols of a library (`STB_GNU_UNIQUE`) ordinary ones (`STB_GLOBAL`), in its bytes: the
/// dynamic loader then gives each copy its own, and does not give the first copy's to all. Returns how many.
///
/// Compilers use unique symbols for the static variables of inline functions and templates in C++.
pub(crate) fn make_unique_symbols_global(bytes: &mut [u8]) -> usize {
    /// Bytes of a symbol of 64 bit, and the offset of its binding in them (ELF specification).
    const SYMBOL: usize = size_of::<elf::Sym64<Endianness>>();
    const INFO: usize = 4;
    let tables = DynamicTables::<elf::FileHeader64<Endianness>>::read(bytes);
    let symbols = tables.map(|tables| tables.symbols);
    let Some(symbols) = symbols.and_then(|symbols| bytes.get_mut(symbols)) else {
        return 0;
    };
    let mut count = 0;
    for symbol in symbols.chunks_exact_mut(SYMBOL) {
        let (binding, kind) = (symbol[INFO] >> 4, symbol[INFO] & 0xf);
        if binding == elf::STB_GNU_UNIQUE.0 {
            symbol[INFO] = elf::STB_GLOBAL.0 << 4 | kind;
            count += 1;
        }
    }
    count
}

/// As [`make_unique_symbols_global`], in a file, which keeps its time: it is still the archive's.
pub(crate) fn make_unique_symbols_of_file_global(path: &Path) -> std::io::Result<()> {
    let mut bytes = std::fs::read(path)?;
    if make_unique_symbols_global(&mut bytes) == 0 {
        return Ok(());
    }
    let time = std::fs::metadata(path)?.modified();
    std::fs::write(path, bytes)?;
    match time {
        Ok(time) => File::options().write(true).open(path)?.set_modified(time),
        Err(_) => Ok(()),
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

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    mod of_a_compiler {
        use super::super::*;

        /// A library of this C++ source, built with these options.
        fn library(source: &str, options: &[&str]) -> Vec<u8> {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("library.cpp"), source).unwrap();
            let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
            let status = std::process::Command::new(compiler)
                .args(
                    "-shared -fPIC -O1 -o library.so library.cpp -Wl,-rpath,/there -lm".split(' '),
                )
                .args(options)
                .current_dir(folder.path())
                .status();
            assert!(status.unwrap().success(), "the C compiler failed");
            std::fs::read(folder.path().join("library.so")).unwrap()
        }

        /// The library without its section headers, as protected and shrunk ones are.
        fn without_sections(mut bytes: Vec<u8>) -> Vec<u8> {
            // Place, size and number of the headers, and which of them has their names (ELF specification).
            bytes[40..48].fill(0);
            bytes[58..64].fill(0);
            bytes
        }

        /// Symbols as the section headers have them: for others, and of others.
        fn symbols_by_sections(bytes: &[u8]) -> [BTreeSet<String>; 2] {
            let header = elf::FileHeader64::<Endianness>::parse(bytes).unwrap();
            let endian = header.endian().unwrap();
            let sections = header.sections(endian, bytes).unwrap();
            let symbols = sections.symbols(endian, bytes, elf::SHT_DYNSYM).unwrap();
            let strings = symbols.strings();
            let found = |is_undefined| {
                let symbols = symbols.iter().skip(1).filter(|symbol| {
                    let is_weak = symbol.st_bind() == elf::STB_WEAK;
                    symbol.is_undefined(endian) == is_undefined && !(is_undefined && is_weak)
                });
                let name = |symbol: &elf::Sym64<Endianness>| symbol.name(endian, strings);
                let text = |name: &[u8]| String::from_utf8(name.to_owned()).unwrap();
                symbols.map(|symbol| text(name(symbol).unwrap())).collect()
            };
            [found(false), found(true)]
        }

        #[test]
        fn libraries_without_section_headers_are_read() {
            const SOURCE: &str = "
            #include <cmath>
            inline int *unique() { static int kept; return &kept; }
            thread_local double of_thread;
            extern \"C\" double fmi2DoStep(double x) { of_thread = std::cos(x); return of_thread + *unique(); }";
            for hashes in ["sysv", "gnu", "both"] {
                let style = format!("-Wl,--hash-style={hashes}");
                let whole = library(SOURCE, &[&style]);
                let stripped = without_sections(whole.clone());
                let [defined, undefined] = symbols_by_sections(&whole);
                for bytes in [whole, stripped] {
                    let binary = Binary::parse(&bytes).unwrap();
                    assert_eq!(binary.defined, defined, "{hashes}");
                    assert_eq!(binary.undefined, undefined, "{hashes}");
                    assert!(binary.defined.contains("fmi2DoStep"));
                    assert!(binary.undefined.contains("cos"));
                    assert!(binary.needed.contains(&"libm.so.6".to_owned()));
                    assert!(binary.is_thread_local);
                    let paths = &binary.run_paths;
                    assert_eq!(format!("{}{}", paths.rpath, paths.runpath), "/there");
                    assert_eq!(binary.unique, 1);
                    let mut bytes = bytes;
                    assert_eq!(make_unique_symbols_global(&mut bytes), 1);
                    assert_eq!(Binary::parse(&bytes).unwrap().unique, 0);
                }
            }
        }

        #[test]
        fn libraries_that_only_use_others_are_read() {
            const SOURCE: &str = "
            extern \"C\" int other();
            __attribute__((constructor)) static void begin() { other(); }";
            for hashes in ["sysv", "gnu"] {
                let style = format!("-Wl,--hash-style={hashes}");
                let bytes = library(SOURCE, &[&style, "-nostdlib"]);
                for bytes in [bytes.clone(), without_sections(bytes)] {
                    let binary = Binary::parse(&bytes).unwrap();
                    assert_eq!(binary.undefined, BTreeSet::from(["other".to_owned()]));
                }
            }
        }
    }

    #[test]
    fn no_part_of_a_library_panics() {
        let own = std::env::current_exe().unwrap();
        let bytes = std::fs::read(own).unwrap();
        let head = &bytes[..bytes.len().min(1 << 16)];
        for end in (0..head.len()).step_by(251) {
            let _ = Binary::parse(&head[..end]);
        }
        let mut torn = bytes.clone();
        for at in (0..torn.len().min(1 << 14)).step_by(7) {
            torn[at] ^= 0xff;
        }
        let _ = Binary::parse(&torn);
        let _ = make_unique_symbols_global(&mut torn);
    }
}
