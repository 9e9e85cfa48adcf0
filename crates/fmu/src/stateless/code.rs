//! Search of x86-64 code for whatever could lead to writable bytes.
//!
//! Position-independent code reaches variables in three ways: by a distance of 32 bits from the end of the instruction,
//! which is followed by at most four bytes of a constant; by an address in a table that the dynamic loader has
//! written, which shows in the relocations; and in the large code model by a distance of 64 bits from that table.
//! Instructions are not decoded: every byte may be the first of a distance. Bytes that look like one by chance are a
//! doubt, and rare: eight bytes match once in a hundred million. An array may also be reached from an address before
//! it, to which its index is added (`a[i - 1]`): no instruction may take an address among those tables, except their
//! start.

use std::ops::Range;

use super::contains;
use super::image::{Image, Relocation, Section};

/// Bytes of an instruction behind the distance: none, or a constant of that many.
const BEHIND: [u64; 4] = [0, 1, 2, 4];

/// Bytes before the function that the start files have for the end of a library, where their other functions lie.
const BEFORE: u64 = 0x80;

/// Bytes of that function.
const LENGTH: u64 = 0x40;

/// Marks a target of indirect jumps (`endbr64`).
const LANDING: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];

/// Refuses code that could reach loose bytes, apart from that of the start files.
pub(super) fn check(
    image: &Image<'_>,
    relocations: &[Relocation],
    loose: &[Range<u64>],
    own_handle: Option<u64>,
) -> Result<(), String> {
    let code = image.code()?;
    let allowed = start_files(image, &code, relocations, loose, own_handle);
    let tables = [".dynamic", ".got", ".got.plt"].map(|name| image.section(name));
    let tables: Vec<Range<u64>> = tables.into_iter().flatten().collect();
    for section in &code {
        let found = near(section, loose).find(|place| !allowed.contains(place));
        let found = found.or_else(|| before(section, &tables));
        let found = found.or_else(|| far(section, tables.last()?.start, loose));
        if let Some(place) = found {
            return Err(format!("code that may use a variable at {place:#x}"));
        }
    }
    Ok(())
}

/// Calls the system.
const SYSTEM_CALL: &[u8] = &[0x0f, 0x05];

/// Refuses code that may call the system without the C library.
pub(super) fn check_system_calls(image: &Image<'_>) -> Result<(), String> {
    for section in image.code()? {
        let mut windows = section.bytes.windows(SYSTEM_CALL.len());
        if windows.any(|window| window == SYSTEM_CALL) {
            return Err("code that may call the system".to_owned());
        }
    }
    Ok(())
}

/// Whether the first function for the end of the library is that of the start files of GCC.
pub(super) fn has_start_files(
    image: &Image<'_>,
    relocations: &[Relocation],
) -> Result<bool, String> {
    let found = start_files(image, &image.code()?, relocations, &image.loose(), None);
    Ok(!found.is_empty())
}

/// Places of distances of 32 bits that lead to loose bytes.
fn near<'a>(section: &'a Section<'_>, loose: &'a [Range<u64>]) -> impl Iterator<Item = u64> + 'a {
    let start = loose.iter().map(|range| range.start).min().unwrap_or(0);
    let end = loose.iter().map(|range| range.end).max().unwrap_or(0);
    let longest = BEHIND[BEHIND.len() - 1];
    let around = start.saturating_sub(longest)..end;
    let windows = section.bytes.windows(4).enumerate();
    windows.filter_map(move |(index, window)| {
        let place = section.address.wrapping_add(index as u64);
        let base = target(place, window.try_into().ok()?);
        let is_near = around.contains(&base);
        let leads = || {
            let mut targets = BEHIND.iter().map(|more| base.wrapping_add(*more));
            targets.any(|target| contains(loose, target))
        };
        (is_near && leads()).then_some(place)
    })
}

/// Place of an instruction (`lea`) that takes an address inside of the tables.
fn before(section: &Section<'_>, tables: &[Range<u64>]) -> Option<u64> {
    let windows = section.bytes.windows(7).enumerate();
    let mut found = windows.filter_map(|(index, window)| {
        let (0x48 | 0x4c, 0x8d, 0x05) = (window[0], window[1], window[2] & 0xc7) else {
            return None;
        };
        let place = section.address.wrapping_add(index as u64).wrapping_add(3);
        let target = target(place, window[3..].try_into().ok()?);
        let is_inside = |table: &Range<u64>| table.start < target && target < table.end;
        tables.iter().any(is_inside).then_some(place)
    });
    found.next()
}

/// Place of a distance of 64 bits from the table of addresses that leads to loose bytes.
fn far(section: &Section<'_>, table: u64, loose: &[Range<u64>]) -> Option<u64> {
    let mut windows = section.bytes.windows(10).enumerate();
    windows.find_map(|(index, window)| {
        // Loads a constant of 64 bits into one of 16 registers.
        let (0x48 | 0x49, 0xb8..=0xbf) = (window[0], window[1]) else {
            return None;
        };
        let distance = u64::from_le_bytes(window[2..].try_into().ok()?);
        let leads = contains(loose, table.wrapping_add(distance));
        leads.then(|| section.address.wrapping_add(index as u64))
    })
}

/// Address that a distance of 32 bits at `place` leads to, if it ends its instruction.
fn target(place: u64, distance: [u8; 4]) -> u64 {
    let distance = i64::from(i32::from_le_bytes(distance));
    place.wrapping_add(4).wrapping_add_signed(distance)
}

/// Places of the distances by which the start files of GCC reach their own variables. The function for the end of a
/// library is the first in the list of such functions, and says where `completed` is:
///
/// ```text
/// deregister_tm_clones:  lea    completed(%rip),%rdi   # as an address only
///                        lea    completed(%rip),%rax
/// register_tm_clones:    lea    completed(%rip),%rdi
///                        lea    completed(%rip),%rsi
/// __do_global_dtors_aux: cmpb   $0x0,completed(%rip)
///                        mov    __dso_handle(%rip),%rdi
///                        movb   $0x1,completed(%rip)
/// ```
///
/// Empty where the functions are others.
fn start_files(
    image: &Image<'_>,
    code: &[Section<'_>],
    relocations: &[Relocation],
    loose: &[Range<u64>],
    own_handle: Option<u64>,
) -> Vec<u64> {
    let find = || {
        let list = image.section(".fini_array")?.start;
        let mut first = relocations.iter().filter(|entry| entry.place == list);
        let function = first.next()?.target?;
        let section = code.iter().find(|section| {
            let end = section.address.saturating_add(section.bytes.len() as u64);
            (section.address..end).contains(&function)
        })?;
        let at = usize::try_from(function - section.address).ok()?;
        let landing = match section.bytes.get(at..)?.starts_with(LANDING) {
            true => LANDING.len() as u64,
            false => 0,
        };
        let compare = function.checked_add(landing)?;
        let completed = operand(section, compare, &[0x80, 0x3d], &[0])?;
        if !contains(loose, completed) {
            return None;
        }
        let mut places = vec![compare.wrapping_add(2)];
        for place in function..function.checked_add(LENGTH)? {
            if operand(section, place, &[0xc6, 0x05], &[1]) == Some(completed) {
                places.push(place.wrapping_add(2));
            }
            let handle = operand(section, place, &[0x48, 0x8b, 0x3d], &[]);
            if handle.is_some() && handle == own_handle {
                places.push(place.wrapping_add(3));
            }
        }
        // The table of transactional clones is empty and has no place: it ends where the variables do.
        let end = image.section(".data").map_or(completed, |data| data.end);
        let end = end.checked_next_multiple_of(8)?;
        let is_end = |found: &u64| [completed, end].contains(found);
        for place in function.saturating_sub(BEFORE)..function {
            // The registers rax, rsi and rdi.
            let found = [0x05, 0x35, 0x3d]
                .iter()
                .find_map(|register| operand(section, place, &[0x48, 0x8d, *register], &[]));
            if found.filter(is_end).is_some() {
                places.push(place.wrapping_add(3));
            }
        }
        Some(places)
    };
    find().unwrap_or_default()
}

/// Address in the instruction at `place`, if it begins with `head` and ends with `tail`.
fn operand(section: &Section<'_>, place: u64, head: &[u8], tail: &[u8]) -> Option<u64> {
    let start = usize::try_from(place.checked_sub(section.address)?).ok()?;
    let rest = section.bytes.get(start..)?.strip_prefix(head)?;
    let (distance, rest) = rest.split_first_chunk::<4>()?;
    let is_whole = rest.starts_with(tail);
    let place = place.wrapping_add(head.len() as u64);
    is_whole.then(|| target(place, *distance).wrapping_add(tail.len() as u64))
}
