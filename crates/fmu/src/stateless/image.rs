//! The parts of an ELF library that say what it may write to.

use std::ops::Range;

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{
    Dyn as _, FileHeader as _, ProgramHeader as _, Rela as _, SectionHeader as _, SectionTable,
    Sym as _, SymbolTable,
};

type Elf = FileHeader64<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// Sections that only the dynamic loader writes to, by the names that all linkers give them.
const OF_THE_LOADER: &[&str] = &[
    ".init_array",
    ".fini_array",
    ".preinit_array",
    ".ctors",
    ".dtors",
    ".jcr",
    ".dynamic",
    ".got",
    ".got.plt",
    ".data.rel.ro",
    ".data.rel.ro.local",
    ".tm_clone_table",
    ".eh_frame",
    ".gcc_except_table",
];

/// A library.
pub(super) struct Image<'a> {
    bytes: &'a [u8],
    sections: SectionTable<'a, Elf>,
    /// Addresses of writable segments.
    writable: Vec<Range<u64>>,
    /// Addresses that are read-only once the library is loaded.
    protected: Range<u64>,
}

/// A section in memory.
pub(super) struct Section<'a> {
    pub(super) address: u64,
    pub(super) bytes: &'a [u8],
}

/// A name in a library.
pub(super) struct Symbol<'a> {
    pub(super) name: &'a str,
    /// `None` if another library has it.
    pub(super) address: Option<u64>,
    pub(super) is_data: bool,
    /// Whether another library has to have it.
    pub(super) is_undefined: bool,
    /// Whether it is thread-local, or a function that is chosen when the library is loaded.
    pub(super) is_special: bool,
    /// Whether all libraries of a process have it in common.
    pub(super) is_unique: bool,
}

/// Functions that run when the library is unloaded, or the process ends.
#[derive(Default)]
pub(super) struct End {
    pub(super) function: Option<u64>,
    /// Bytes of a list of functions.
    pub(super) list_size: u64,
}

/// An address that the dynamic loader writes.
pub(super) struct Relocation {
    /// Where it is written.
    pub(super) place: u64,
    /// The address, if it is one of this library.
    pub(super) target: Option<u64>,
}

impl<'a> Image<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let header = Elf::parse(bytes).map_err(damaged)?;
        if header.e_machine.get(ENDIAN) != elf::EM_X86_64 {
            return Err("code of a machine that cannot be searched".to_owned());
        }
        let mut image = Self {
            bytes,
            sections: header.sections(ENDIAN, bytes).map_err(damaged)?,
            writable: Vec::new(),
            protected: 0..0,
        };
        if image.sections.is_empty() {
            return Err("no table of sections".to_owned());
        }
        for segment in header.program_headers(ENDIAN, bytes).map_err(damaged)? {
            let (start, size) = (segment.p_vaddr(ENDIAN), segment.p_memsz(ENDIAN));
            let range = start..start.saturating_add(size);
            let flags = segment.p_flags(ENDIAN);
            match segment.p_type(ENDIAN) {
                elf::PT_TLS => return Err("thread-local variables".to_owned()),
                elf::PT_GNU_RELRO => image.protected = range,
                elf::PT_LOAD if flags.contains(elf::PF_W) => {
                    if flags.contains(elf::PF_X) {
                        return Err("code that may be written".to_owned());
                    }
                    image.writable.push(range);
                }
                _ => {}
            }
        }
        image.check_dynamic()?;
        Ok(image)
    }

    /// Refuses libraries whose code the dynamic loader changes.
    fn check_dynamic(&self) -> Result<(), String> {
        let dynamic = self.sections.dynamic(ENDIAN, self.bytes).map_err(damaged)?;
        let (entries, _) = dynamic.ok_or("no dynamic section")?;
        for entry in entries {
            let flags = entry.d_val.get(ENDIAN);
            let changes_code = match entry.tag(ENDIAN) {
                elf::DT_TEXTREL => true,
                elf::DT_FLAGS => flags & elf::DF_TEXTREL.0 != 0,
                _ => false,
            };
            if changes_code {
                return Err("code with addresses that are set when it is loaded".to_owned());
            }
        }
        Ok(())
    }

    /// Addresses that are read-only once the library is loaded, but for a part of a page.
    pub(super) fn protected(&self) -> &Range<u64> {
        &self.protected
    }

    pub(super) fn is_end_of_segment(&self, address: u64) -> bool {
        self.writable.iter().any(|segment| segment.end == address)
    }

    /// Names of the libraries that it needs; libraries that stand in for others count as well.
    pub(super) fn needed(&self) -> Result<Vec<String>, String> {
        let dynamic = self.sections.dynamic(ENDIAN, self.bytes).map_err(damaged)?;
        let (entries, names) = dynamic.ok_or("no dynamic section")?;
        let names = self
            .sections
            .strings(ENDIAN, self.bytes, names)
            .map_err(damaged)?;
        let needed = entries.iter().filter(|entry| {
            let kinds = [
                elf::DT_NEEDED,
                elf::DT_AUXILIARY,
                elf::DT_FILTER,
                elf::DT_AUDIT,
                elf::DT_DEPAUDIT,
            ];
            kinds.contains(&entry.tag(ENDIAN))
        });
        let name = |entry: &elf::Dyn64<LittleEndian>| {
            let name = entry.string(ENDIAN, names).map_err(damaged)?;
            Ok(String::from_utf8_lossy(name).into_owned())
        };
        needed.map(name).collect()
    }

    /// The functions that run in the end.
    pub(super) fn end(&self) -> Result<End, String> {
        let dynamic = self.sections.dynamic(ENDIAN, self.bytes).map_err(damaged)?;
        let (entries, _) = dynamic.ok_or("no dynamic section")?;
        let mut end = End::default();
        for entry in entries {
            let value = entry.d_val.get(ENDIAN);
            match entry.tag(ENDIAN) {
                elf::DT_FINI => end.function = Some(value),
                elf::DT_FINI_ARRAYSZ => end.list_size = value,
                _ => {}
            }
        }
        Ok(end)
    }

    /// The bytes that a range has when the library is loaded.
    pub(super) fn contents(&self, range: &Range<u64>) -> Result<Vec<u8>, String> {
        let header = Elf::parse(self.bytes).map_err(damaged)?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        for segment in header
            .program_headers(ENDIAN, self.bytes)
            .map_err(damaged)?
        {
            if segment.p_type(ENDIAN) != elf::PT_LOAD {
                continue;
            }
            let found = segment
                .data(ENDIAN, self.bytes)
                .map_err(|()| "segments that are cut off")?;
            for (address, byte) in (range.start..range.end).zip(&mut bytes) {
                let at = address.checked_sub(segment.p_vaddr(ENDIAN));
                let found = at.and_then(|at| found.get(usize::try_from(at).ok()?));
                *byte = found.copied().unwrap_or(*byte);
            }
        }
        Ok(bytes)
    }

    /// Bytes in sections for variables.
    pub(super) fn variables(&self) -> u64 {
        let sections = self.sections.iter().filter(|section| {
            let flags = section.sh_flags(ENDIAN);
            let is_mapped = flags.contains(elf::SHF_ALLOC) && flags.contains(elf::SHF_WRITE);
            is_mapped && !self.is_of_the_loader(section)
        });
        let sizes = sections.map(|section| section.sh_size(ENDIAN));
        sizes.fold(0, u64::saturating_add)
    }

    fn is_of_the_loader(&self, section: &elf::SectionHeader64<LittleEndian>) -> bool {
        let name = self.sections.section_name(ENDIAN, section);
        let name = name.ok().and_then(|name| std::str::from_utf8(name).ok());
        if name.is_some_and(|name| OF_THE_LOADER.contains(&name)) {
            return true;
        }
        // The last page that is read-only in part stays writable as a whole.
        const LEAST_PAGE: u64 = 4096;
        let end = self.protected.end / LEAST_PAGE * LEAST_PAGE;
        let start = section.sh_addr(ENDIAN);
        self.protected.start <= start && start.saturating_add(section.sh_size(ENDIAN)) <= end
    }

    /// Writable addresses that are not the dynamic loader's own.
    pub(super) fn loose(&self) -> Vec<Range<u64>> {
        let own = self.sections.iter().filter(|section| {
            section.sh_flags(ENDIAN).contains(elf::SHF_ALLOC) && self.is_of_the_loader(section)
        });
        let own = own.map(|section| {
            let start = section.sh_addr(ENDIAN);
            start..start.saturating_add(section.sh_size(ENDIAN))
        });
        let mut own: Vec<Range<u64>> = own.collect();
        own.sort_by_key(|range| range.start);
        let mut loose = Vec::new();
        for segment in &self.writable {
            let mut start = segment.start;
            for range in &own {
                if range.start > start {
                    loose.push(start..range.start.min(segment.end));
                }
                start = start.max(range.end);
            }
            loose.push(start..segment.end);
        }
        loose.retain(|range| range.start < range.end);
        loose
    }

    /// The sections with code.
    pub(super) fn code(&self) -> Result<Vec<Section<'a>>, String> {
        let code = self.sections.iter().filter(|section| {
            let flags = section.sh_flags(ENDIAN);
            flags.contains(elf::SHF_ALLOC) && flags.contains(elf::SHF_EXECINSTR)
        });
        code.map(|section| {
            Ok(Section {
                address: section.sh_addr(ENDIAN),
                bytes: section.data(ENDIAN, self.bytes).map_err(damaged)?,
            })
        })
        .collect()
    }

    /// Addresses of a section.
    pub(super) fn section(&self, name: &str) -> Option<Range<u64>> {
        let found = self.sections.section_by_name(ENDIAN, name.as_bytes());
        let (_, section) = found?;
        let start = section.sh_addr(ENDIAN);
        Some(start..start.saturating_add(section.sh_size(ENDIAN)))
    }

    /// All symbols: those of a library that was stripped are few.
    pub(super) fn symbols(&self) -> Result<Vec<Symbol<'a>>, String> {
        let mut all = Vec::new();
        for kind in [elf::SHT_DYNSYM, elf::SHT_SYMTAB] {
            let table = self.table(kind)?;
            for symbol in table.iter().skip(1) {
                let is_defined = !symbol.is_undefined(ENDIAN) && !symbol.is_absolute(ENDIAN);
                let kind = symbol.st_type();
                all.push(Symbol {
                    name: name_of(&table, symbol),
                    address: is_defined.then(|| symbol.st_value(ENDIAN)),
                    // Ends of sections are exported without a kind and a size.
                    is_data: kind == elf::STT_OBJECT
                        || kind == elf::STT_COMMON
                        || kind == elf::STT_NOTYPE && symbol.st_size(ENDIAN) > 0,
                    is_undefined: symbol.is_undefined(ENDIAN),
                    is_special: kind == elf::STT_TLS || kind == elf::STT_GNU_IFUNC,
                    is_unique: symbol.st_bind() == elf::STB_GNU_UNIQUE,
                });
            }
        }
        Ok(all)
    }

    fn table(&self, kind: elf::SectionType) -> Result<SymbolTable<'a, Elf>, String> {
        let table = self.sections.symbols(ENDIAN, self.bytes, kind);
        table.map_err(damaged)
    }

    /// All addresses that the dynamic loader writes.
    pub(super) fn relocations(&self) -> Result<Vec<Relocation>, String> {
        let table = self.table(elf::SHT_DYNSYM)?;
        let mut all = Vec::new();
        for section in self.sections.iter() {
            if !section.sh_flags(ENDIAN).contains(elf::SHF_ALLOC) {
                continue;
            }
            match section.sh_type(ENDIAN) {
                elf::SHT_RELA => {}
                elf::SHT_REL | elf::SHT_RELR => {
                    return Err("relocations that cannot be searched".to_owned());
                }
                _ => continue,
            }
            let found = section.rela(ENDIAN, self.bytes).map_err(damaged)?;
            for entry in found.map_or(&[][..], |(entries, _)| entries) {
                let place = entry.r_offset(ENDIAN);
                let addend = entry.r_addend(ENDIAN).cast_unsigned();
                let index = entry.symbol(ENDIAN, false);
                let symbol = index.map(|index| table.symbol(index)).transpose();
                let symbol = symbol.map_err(damaged)?;
                let target = match entry.r_type(ENDIAN, false) {
                    elf::R_X86_64_NONE => continue,
                    elf::R_X86_64_RELATIVE => Some(addend),
                    elf::R_X86_64_64 | elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT => symbol
                        .filter(|symbol| !symbol.is_undefined(ENDIAN))
                        .map(|symbol| symbol.st_value(ENDIAN).wrapping_add(addend)),
                    other => return Err(format!("a relocation of kind {}", other.0)),
                };
                all.push(Relocation { place, target });
            }
        }
        Ok(all)
    }
}

fn name_of<'a>(table: &SymbolTable<'a, Elf>, symbol: &elf::Sym64<LittleEndian>) -> &'a str {
    let name = symbol.name(ENDIAN, table.strings());
    name.ok()
        .and_then(|name| std::str::from_utf8(name).ok())
        .unwrap_or("?")
}

fn damaged(_: object::Error) -> String {
    "tables that cannot be read".to_owned()
}
