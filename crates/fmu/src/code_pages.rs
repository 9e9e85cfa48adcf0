//! One set of pages in memory for the code of all copies of a library.
//!
//! The pages of a copy that are never written, code and constants, equal those of the unpacked library. They are
//! replaced by these in the page tables, so that copies do not evict each other from the caches, and take no
//! memory but for their writable pages. That happens after the constructors of the copy have run and before it is
//! called, and only where the bytes in memory are those of the file: not where the dynamic loader or a constructor has
//! changed code. A thread that a constructor has started sees the same bytes before and after: the
//! kernel replaces a mapping in one step.

#![expect(unsafe_code, reason = "replaces mappings of memory")]

use std::ffi::{CStr, OsStr, c_void};
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

use object::NativeEndian;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader as _};
use rustix::mm::{MapFlags, MremapFlags, ProtFlags};

type Elf = elf::FileHeader64<NativeEndian>;

/// Bytes of a file that are looked at: linkers put all headers there.
const HEAD: u64 = 4096;

/// Pages of a library that are loaded together.
struct Segment {
    /// Where they lie in memory, from where the library begins.
    pages: Range<usize>,
    /// Where they begin in the file.
    offset: u64,
    rights: ProtFlags,
    is_writable: bool,
}

/// Lets the library at `copy`, of which `address` is a function, use the pages of the file `original`. The
/// result has the ranges of the copy's file that are still used.
///
/// # Errors
/// If pages have got lost on the way: the library must not be called.
pub(crate) fn share(
    copy: &Path,
    address: *const c_void,
    original: &Path,
) -> Result<Option<Vec<Range<u64>>>, String> {
    let Some((file, segments)) = segments(original) else {
        return Ok(None);
    };
    let Some(start) = start_of(copy, address, &segments) else {
        return Ok(None);
    };
    let mut is_whole = true;
    for segment in segments.iter().filter(|segment| !segment.is_writable) {
        is_whole &= replace(start, segment, &file)?;
    }
    let used = segments.iter().filter(|segment| segment.is_writable);
    let used = used.map(|segment| segment.offset..segment.offset + segment.pages.len() as u64);
    Ok(is_whole.then(|| used.collect()))
}

/// The segments of a library in its order; `None` if one of them is unusual.
fn segments(library: &Path) -> Option<(File, Vec<Segment>)> {
    use std::io::Read as _;
    let file = File::open(library).ok()?;
    let mut head = Vec::with_capacity(HEAD as usize);
    (&file).take(HEAD).read_to_end(&mut head).ok()?;
    let header = Elf::parse(&*head).ok()?;
    let endian = header.endian().ok()?;
    let page = rustix::param::page_size() as u64;
    let mut segments = Vec::new();
    for entry in header.program_headers(endian, &*head).ok()? {
        if entry.p_type(endian) != elf::PT_LOAD {
            continue;
        }
        let flags = entry.p_flags(endian);
        let is_writable = flags.contains(elf::PF_W);
        let start = entry.p_vaddr(endian);
        let (offset, bytes) = entry.file_range(endian);
        let before = start % page;
        let is_plain = flags.contains(elf::PF_R)
            && offset % page == before
            && (is_writable || bytes == entry.p_memsz(endian));
        if !is_plain {
            return None;
        }
        let length = before.checked_add(bytes)?.checked_next_multiple_of(page)?;
        let first = usize::try_from(start - before).ok()?;
        let mut rights = ProtFlags::READ;
        rights.set(ProtFlags::EXEC, flags.contains(elf::PF_X));
        segments.push(Segment {
            pages: first..first.checked_add(usize::try_from(length).ok()?)?,
            offset: offset - before,
            rights,
            is_writable,
        });
    }
    segments.retain(|segment| !segment.pages.is_empty());
    (!segments.is_empty()).then_some((file, segments))
}

/// Where the library begins in memory, if `address` is one of its.
fn start_of(library: &Path, address: *const c_void, segments: &[Segment]) -> Option<*mut c_void> {
    let mut found = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: the structure may be written; any address may be asked for.
    if unsafe { libc::dladdr(address, &raw mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a C string of the dynamic loader, which lives as long as the library.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    let is_it = OsStr::from_bytes(name.to_bytes()) == library.as_os_str();
    // The dynamic loader says where the first segment lies.
    let first = segments.first()?.pages.start;
    is_it.then(|| found.dli_fbase.wrapping_byte_sub(first))
}

/// Replaces the pages of a segment; false if they have other bytes, or the system does not allow it.
fn replace(start: *mut c_void, segment: &Segment, file: &File) -> Result<bool, String> {
    let length = segment.pages.len();
    let place = start.wrapping_byte_add(segment.pages.start);
    let flags = MapFlags::PRIVATE;
    // SAFETY: the system chooses an address that is free.
    let new = unsafe {
        rustix::mm::mmap(
            ptr::null_mut(),
            length,
            segment.rights,
            flags,
            file,
            segment.offset,
        )
    };
    let Ok(new) = new else {
        return Ok(false);
    };
    // SAFETY: the pages were mapped above, readable, and are the file's.
    let wanted = unsafe { std::slice::from_raw_parts(new.cast::<u8>(), length) };
    // SAFETY: the dynamic loader has mapped the segment of the copy here, readable, and no code writes there.
    let found = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), length) };
    if wanted != found {
        // SAFETY: the pages were mapped above and are not used any more.
        let _ = unsafe { rustix::mm::munmap(new, length) };
        return Ok(false);
    }
    // SAFETY: the pages at this place have the same bytes and rights, and are used by none but the library.
    let moved =
        unsafe { rustix::mm::mremap_fixed(new, length, length, MremapFlags::MAYMOVE, place) };
    if moved.is_ok() {
        return Ok(true);
    }
    // The system may have taken the old pages away before it failed: the file's are put there once more.
    // SAFETY: as above.
    let put = unsafe {
        rustix::mm::mmap(
            place,
            length,
            segment.rights,
            flags | MapFlags::FIXED,
            file,
            segment.offset,
        )
    };
    // SAFETY: the pages were mapped above and were not moved.
    let _ = unsafe { rustix::mm::munmap(new, length) };
    put.map(|_| true)
        .map_err(|error| format!("the system has no memory for its pages: {error}"))
}
