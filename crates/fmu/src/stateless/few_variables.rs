//! Proof that the variables of a library can be exchanged, so that one load of it serves instances in turn.
//!
//! An instance with a copy of the library sees variables that nothing else writes to. It sees the same where its variables
//! are put into the place of another instance's before each call, if
//!
//! - they are all writable bytes that are not the dynamic loader's, and few;
//! - nothing but the calls of the instance uses them: no thread, no signal, nothing that the C library calls or writes to
//!   later. The library needs the C library alone, and of that only functions ([`ALLOWED`], [`MATHEMATICS`]) that
//!   keep no address that they are given, call nothing back once they have returned and start nothing;
//! - nothing runs once for each copy: no functions for the end of the library but those of the start files, and no
//!   function for its start that has changed a variable ([`Variables::are_untouched`]).
//!
//! Addresses of variables are the same for all instances, wherever they are kept. Code is not searched: whatever it
//! writes to is among the bytes that are exchanged.

use std::ops::Range;

use super::image::{Image, Relocation, Symbol};
use super::{ADDRESS, code, contains};

/// Most bytes of variables that are exchanged (measured with the benchmark's FMU: with 200 bytes a step takes as long as with copies where
/// there are 100 instances, and half of that where there are 1000).
pub(crate) const MOST_EXCHANGED: usize = 256;

/// Most bytes of variables that are put back for the next run: as many as a core has cache for.
const MOST: u64 = 1 << 16;

/// Libraries that may be needed.
const NEEDED: &[&str] = &["libc.so.6", "libm.so.6"];

/// A page, of which the dynamic loader protects whole ones.
const PAGE: u64 = 4096;

/// Bytes of the function `_fini` of the start files: it does nothing.
const EMPTY_END: u64 = 16;

/// Functions and variables of the C library that a library may use, in alphabetical order.
const ALLOWED: &[&str] = &[
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "_Jv_RegisterClasses",
    "__asprintf_chk",
    "__assert",
    "__assert_fail",
    "__chk_fail",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "__cxa_finalize",
    "__errno_location",
    "__fgets_chk",
    "__fprintf_chk",
    "__fread_chk",
    "__gmon_start__",
    "__isoc23_fscanf",
    "__isoc23_sscanf",
    "__isoc23_strtol",
    "__isoc23_strtoll",
    "__isoc23_strtoul",
    "__isoc23_strtoull",
    "__isoc99_fscanf",
    "__isoc99_sscanf",
    "__isoc99_vsscanf",
    "__memcpy_chk",
    "__memmove_chk",
    "__memset_chk",
    "__printf_chk",
    "__snprintf_chk",
    "__sprintf_chk",
    "__stack_chk_fail",
    "__stpcpy_chk",
    "__strcat_chk",
    "__strcpy_chk",
    "__strdup",
    "__strncat_chk",
    "__strncpy_chk",
    "__strtod_internal",
    "__vasprintf_chk",
    "__vfprintf_chk",
    "__vprintf_chk",
    "__vsnprintf_chk",
    "__vsprintf_chk",
    "abort",
    "abs",
    "access",
    "aligned_alloc",
    "asctime_r",
    "asprintf",
    "atof",
    "atoi",
    "atol",
    "atoll",
    "bsearch",
    "calloc",
    "clearerr",
    "clock",
    "clock_gettime",
    "difftime",
    "div",
    "dprintf",
    "fclose",
    "feof",
    "ferror",
    "fflush",
    "fgetc",
    "fgets",
    "fileno",
    "fopen",
    "fopen64",
    "fprintf",
    "fputc",
    "fputs",
    "fread",
    "free",
    "fscanf",
    "fseek",
    "fseeko",
    "fseeko64",
    "ftell",
    "ftello",
    "ftello64",
    "fwrite",
    "getc",
    "getcwd",
    "getenv",
    "getline",
    "getpid",
    "gettimeofday",
    "gmtime",
    "gmtime_r",
    "isalnum",
    "isalpha",
    "iscntrl",
    "isdigit",
    "isgraph",
    "islower",
    "isprint",
    "ispunct",
    "isspace",
    "isupper",
    "isxdigit",
    "labs",
    "ldiv",
    "llabs",
    "lldiv",
    "localeconv",
    "localtime",
    "localtime_r",
    "malloc",
    "memchr",
    "memcmp",
    "memcpy",
    "memmem",
    "memmove",
    "mempcpy",
    "memrchr",
    "memset",
    "mktime",
    "nanosleep",
    "posix_memalign",
    "printf",
    "putc",
    "putchar",
    "puts",
    "qsort",
    "rand",
    "rand_r",
    "random",
    "realloc",
    "reallocarray",
    "remove",
    "rename",
    "rewind",
    "secure_getenv",
    "sleep",
    "snprintf",
    "sprintf",
    "srand",
    "srandom",
    "sscanf",
    "stderr",
    "stdin",
    "stdout",
    "stpcpy",
    "stpncpy",
    "strcasecmp",
    "strcasestr",
    "strcat",
    "strchr",
    "strchrnul",
    "strcmp",
    "strcoll",
    "strcpy",
    "strcspn",
    "strdup",
    "strerror",
    "strftime",
    "strlen",
    "strncasecmp",
    "strncat",
    "strncmp",
    "strncpy",
    "strndup",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strsep",
    "strspn",
    "strstr",
    "strtod",
    "strtof",
    "strtok_r",
    "strtol",
    "strtold",
    "strtoll",
    "strtoul",
    "strtoull",
    "strxfrm",
    "time",
    "tolower",
    "toupper",
    "ungetc",
    "usleep",
    "vasprintf",
    "vfprintf",
    "vprintf",
    "vsnprintf",
    "vsprintf",
    "vsscanf",
];

/// Mathematical functions, which have variants with `f` and `l` at the end, in alphabetical order.
const MATHEMATICS: &[&str] = &[
    "__finite",
    "__fpclassify",
    "__isinf",
    "__isnan",
    "__signbit",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "finite",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ilogb",
    "isinf",
    "isnan",
    "j0",
    "j1",
    "jn",
    "ldexp",
    "lgamma",
    "lgamma_r",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "modf",
    "nan",
    "nearbyint",
    "nextafter",
    "nexttoward",
    "pow",
    "pow10",
    "remainder",
    "remquo",
    "rint",
    "round",
    "scalb",
    "scalbln",
    "scalbn",
    "significand",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
    "yn",
];

/// The variables of a library, by addresses that count from where it is loaded.
pub(crate) struct Variables {
    /// Where they lie: whole words, which are aligned.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Their bytes in the file, one range after the other.
    bytes: Vec<u8>,
    /// Addresses among them, which the dynamic loader writes.
    addresses: Vec<Relocation>,
}

impl Variables {
    /// The variables of a library, or why they cannot be exchanged.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let image = Image::read(bytes)?;
        let ranges = ranges(&image)?;
        check_symbols(&image.symbols()?)?;
        if let Some(name) = image
            .needed()?
            .iter()
            .find(|name| !NEEDED.contains(&name.as_str()))
        {
            return Err(format!("it needs {name}"));
        }
        let relocations = image.relocations()?;
        check_end(&image, &relocations)?;
        code::check_system_calls(&image)?;
        let is_among = |entry: &Relocation| contains(&ranges, entry.place);
        let (addresses, others): (Vec<_>, Vec<_>) = relocations.into_iter().partition(is_among);
        let reaches_in =
            |entry: &Relocation| contains(&ranges, entry.place.saturating_add(ADDRESS - 1));
        if !addresses.iter().all(reaches_in) || others.iter().any(reaches_in) {
            return Err("an address at the edge of the variables".to_owned());
        }
        let bytes = ranges
            .iter()
            .map(|range| image.contents(range))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            ranges,
            bytes: bytes.concat(),
            addresses,
        })
    }

    /// Bytes of all of them.
    pub(crate) const fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the bytes `found` in the place of the variables are those of the file, with the addresses of a library that
    /// is loaded at `start`.
    pub(crate) fn are_untouched(&self, found: &[u8], start: u64) -> bool {
        let mut expected = self.bytes.clone();
        for entry in &self.addresses {
            let mut before = 0;
            for range in &self.ranges {
                if range.contains(&entry.place) {
                    let at = before + (entry.place - range.start) as usize;
                    let place = &mut expected[at..at + ADDRESS as usize];
                    match entry.target {
                        Some(target) => {
                            place.copy_from_slice(&start.wrapping_add(target).to_le_bytes());
                        }
                        // Of another library, wherever that is.
                        None => place.copy_from_slice(&found[at..at + ADDRESS as usize]),
                    }
                }
                before += (range.end - range.start) as usize;
            }
        }
        expected == found
    }
}

/// Where the variables lie that can be written to.
fn ranges(image: &Image<'_>) -> Result<Vec<Range<u64>>, String> {
    let protected = image.protected();
    let protected = protected.start / PAGE * PAGE..protected.end / PAGE * PAGE;
    let mut ranges = Vec::new();
    for range in image.loose() {
        ranges.push(range.start..range.end.min(protected.start));
        ranges.push(range.start.max(protected.end)..range.end);
    }
    ranges.retain(|range| range.start < range.end);
    // Where nothing is protected, both parts are the whole.
    ranges.dedup();
    for range in &mut ranges {
        // Behind the end of a segment there is room up to the end of its page.
        let is_last = image.is_end_of_segment(range.end);
        if !range.start.is_multiple_of(ADDRESS) || !(range.end.is_multiple_of(ADDRESS) || is_last) {
            return Err(format!(
                "variables at {:#x} that are no whole words",
                range.start
            ));
        }
        range.end = range.end.next_multiple_of(ADDRESS);
    }
    let size = ranges
        .iter()
        .map(|range| range.end - range.start)
        .fold(0, u64::saturating_add);
    match size > MOST {
        true => Err(format!("{size} bytes of variables")),
        false => Ok(ranges),
    }
}

fn check_symbols(symbols: &[Symbol<'_>]) -> Result<(), String> {
    for symbol in symbols {
        // In the table for debuggers names have versions.
        let name = symbol.name.split('@').next().unwrap_or_default();
        if symbol.is_special || symbol.is_unique {
            return Err(format!(
                "{name} is thread-local, chosen at run time or one for all of the process"
            ));
        }
        if symbol.is_undefined && !name.is_empty() && !is_allowed(name) {
            return Err(format!("it uses {name}"));
        }
    }
    Ok(())
}

fn is_allowed(name: &str) -> bool {
    let is_mathematics = |name: &str| MATHEMATICS.binary_search(&name).is_ok();
    let without_kind = name.strip_suffix(['f', 'l']);
    ALLOWED.binary_search(&name).is_ok()
        || is_mathematics(name)
        || without_kind.is_some_and(is_mathematics)
}

/// Refuses libraries that do something when the process ends: that would be done once, and not for each copy.
fn check_end(image: &Image<'_>, relocations: &[Relocation]) -> Result<(), String> {
    let end = image.end()?;
    let is_of_start_files = |address| {
        let section = image.section(".fini");
        section.is_some_and(|section| {
            section.start == address && section.end - section.start <= EMPTY_END
        })
    };
    let list = end.list_size;
    let is_plain = end.function.is_none_or(is_of_start_files)
        && (list == 0 || list == ADDRESS && code::has_start_files(image, relocations)?);
    match is_plain {
        true => Ok(()),
        false => Err("functions for its end".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_order() {
        assert!(ALLOWED.is_sorted() && MATHEMATICS.is_sorted());
        for name in ["malloc", "sin", "sinf", "sinl", "vsnprintf", "lgamma_r"] {
            assert!(is_allowed(name), "{name}");
        }
        for name in [
            "",
            "f",
            "strtok",
            "atexit",
            "setvbuf",
            "signal",
            "exit",
            "pthread_create",
            "__cxa_atexit",
        ] {
            assert!(!is_allowed(name), "{name}");
        }
    }

    #[test]
    fn variables_are_untouched_where_they_are_those_of_the_file() {
        let address = |place, target| Relocation { place, target };
        let variables = Variables {
            ranges: vec![0x10..0x20, 0x30..0x40],
            bytes: (0..32).collect(),
            addresses: vec![address(0x18, Some(0x30)), address(0x30, None)],
        };
        let mut found: Vec<u8> = (0..32).collect();
        assert!(
            !variables.are_untouched(&found, 0x7000),
            "without the address"
        );
        found[8..16].copy_from_slice(&0x7030_u64.to_le_bytes());
        assert!(variables.are_untouched(&found, 0x7000));
        found[17] = 0xff;
        assert!(variables.are_untouched(&found, 0x7000), "another library's");
        found[31] = 0;
        assert!(!variables.are_untouched(&found, 0x7000));
    }
}
