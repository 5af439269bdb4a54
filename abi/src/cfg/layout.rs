//! How an entry is declared.

/// An entry with its fields and their widths in bits, the first one in the lowest bits.
macro_rules! entry {
    ($(#[$doc:meta])* $entry:ident {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty = $width:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $entry {
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        impl $entry {
            /// Where the fields are.
            pub const FIELDS: &'static [$crate::cfg::BitField] = &{
                let mut fields = [$($crate::cfg::BitField { name: stringify!($field), offset: 0, width: $width },)*];
                let mut k = 1;
                while k < fields.len() {
                    fields[k].offset = fields[k - 1].offset + fields[k - 1].width;
                    k += 1;
                }
                fields
            };

            /// The entry as it goes into the table.
            ///
            /// # Errors
            /// [`crate::cfg::FieldOverflow`] when a value is wider than its field.
            pub fn to_bits(&self) -> Result<[u64; $crate::cfg::ENTRY_WORDS], $crate::cfg::FieldOverflow> {
                use $crate::cfg::field::{insert, FieldValue};
                let mut words = [0; $crate::cfg::ENTRY_WORDS];
                let values = [$(self.$field.to_word(),)*];
                for (field, value) in Self::FIELDS.iter().zip(values) {
                    if value > u64::MAX >> (64 - field.width) {
                        return Err($crate::cfg::FieldOverflow {
                            entry: stringify!($entry),
                            field: field.name,
                            width: field.width,
                            value,
                        });
                    }
                    insert(&mut words, field.offset, field.width, value);
                }
                Ok(words)
            }

            /// The inverse of [`Self::to_bits`]; bits outside all fields are ignored.
            pub fn from_bits(words: &[u64; $crate::cfg::ENTRY_WORDS]) -> Self {
                use $crate::cfg::field::{extract, FieldValue};
                let mut fields = Self::FIELDS.iter();
                Self {
                    $($field: fields.next().map_or_else(Default::default, |field| {
                        <$ty>::from_word(extract(words, field.offset, field.width))
                    }),)*
                }
            }
        }
    };
}
