//! The parser on arbitrary text.

use gyrator_fmu::ModelDescription;
use proptest::prelude::*;

use crate::building::DESCRIPTION;

/// Pieces that a description is made of, to build near misses.
const PIECES: &[&str] = &[
    "<",
    ">",
    "/>",
    "</",
    "\"",
    "'",
    "=",
    "&",
    "&amp;",
    "&#x0;",
    "&#1114112;",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?xml ?>",
    "<!DOCTYPE a>",
    "index",
    "\u{0}",
    "é",
    "\n",
    "4294967296",
    "-1",
    "<Unknown index=\"9\"/>",
    "<Tool name=\"x\">",
    "</Tool>",
    "<VendorAnnotations>",
    ":",
    "xmlns",
];

proptest! {
    #[test]
    fn changed_bytes_never_panic(
        changes in prop::collection::vec((0..DESCRIPTION.len(), any::<u8>()), 1..8)
    ) {
        let mut bytes = DESCRIPTION.as_bytes().to_vec();
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        let _ = ModelDescription::parse(&bytes);
    }

    #[test]
    fn inserted_pieces_never_panic(
        changes in prop::collection::vec((0..DESCRIPTION.len(), 0..PIECES.len()), 1..6),
        cut in 0..DESCRIPTION.len(),
    ) {
        let mut text = DESCRIPTION.to_owned();
        for (place, piece) in changes {
            let place = text.floor_char_boundary(place);
            text.insert_str(place, PIECES[piece]);
        }
        let _ = ModelDescription::parse(text.as_bytes());
        let _ = ModelDescription::parse(&text.as_bytes()[cut..]);
        let _ = ModelDescription::parse(&text.as_bytes()[..cut]);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = ModelDescription::parse(&bytes);
    }
}
