//! Enumerations whose variants have names.

/// An enumeration with the name of each variant beside it, the list `ALL` of its variants, and the function `name`.
///
/// ```
/// fmi2_abi::named! {
///     /// A side.
///     #[derive(Debug, Clone, Copy, PartialEq)]
///     pub enum Side {
///         /// Port.
///         Left => "left",
///         /// Starboard.
///         Right => "right",
///     }
///     /// Both sides.
///     ALL;
///     /// Its English name.
///     name
/// }
///
/// assert_eq!(Side::ALL.map(Side::name), ["left", "right"]);
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])*
        pub enum $type:ident {$(
            $(#[$variant_attribute:meta])*
            $variant:ident $(= $number:expr)? => $name:literal
        ),* $(,)?}
        $(#[$list_attribute:meta])*
        ALL;
        $(#[$name_attribute:meta])*
        name
    ) => {
        $(#[$attribute])*
        pub enum $type {$(
            $(#[$variant_attribute])*
            $variant $(= $number)?
        ),*}

        impl $type {
            $(#[$list_attribute])*
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            $(#[$name_attribute])*
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }
        }
    };
}
