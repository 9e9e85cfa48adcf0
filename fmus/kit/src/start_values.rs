//! Start values beside the fields that have them.

/// A struct with the values of its fields in [`Default`]: written behind the type of a field, or the type's values.
///
/// ```
/// fmu_kit::start_values! {
///     /// A spring.
///     #[derive(Debug)]
///     pub struct Spring {
///         stiffness: f64 = 100.0,
///         stretch: f64,
///     }
/// }
///
/// let spring = Spring::default();
/// assert_eq!([spring.stiffness, spring.stretch], [100.0, 0.0]);
/// ```
#[macro_export]
macro_rules! start_values {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident $(<const $constant:ident: $kind:ty>)? {$(
            $(#[$field_attribute:meta])*
            $field_visibility:vis $field:ident: $type:ty $(= $start:expr)?
        ),* $(,)?}
    ) => {
        $(#[$attribute])*
        $visibility struct $name $(<const $constant: $kind>)? {$(
            $(#[$field_attribute])*
            $field_visibility $field: $type
        ),*}

        impl $(<const $constant: $kind>)? Default for $name $(<$constant>)? {
            fn default() -> Self {
                Self { $($field: $crate::start_values!(@ $type $(= $start)?)),* }
            }
        }
    };
    (@ $type:ty = $start:expr) => { $start };
    (@ $type:ty) => { <$type as Default>::default() };
}
