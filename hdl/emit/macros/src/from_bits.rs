//! `#[derive(FromBits)]`: packing of structs and state enums.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Result};

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let (read, write) = match &input.data {
        Data::Struct(data) => struct_bodies(&data.fields, input)?,
        Data::Enum(data) => enum_bodies(data),
        Data::Union(_) => {
            return Err(Error::new(input.span(), "FromBits can't be a union"));
        }
    };
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::ferroce_emit::FromBits for #name #ty_generics #where_clause {
            fn from_bits(source: &mut ::ferroce_emit::BitReader<'_>) -> Self {
                #read
            }
            fn write_bits(&self, sink: &mut ::ferroce_emit::BitWriter) {
                #write
            }
        }
    })
}

/// Fields in declaration order; the first lands at the least significant bits.
fn struct_bodies(fields: &Fields, input: &DeriveInput) -> Result<(TokenStream, TokenStream)> {
    let Fields::Named(fields) = fields else {
        return Err(Error::new(input.span(), "FromBits needs named fields"));
    };
    let names: Vec<_> = fields
        .named
        .iter()
        .filter_map(|f| f.ident.as_ref())
        .collect();
    if let Some(hidden) = names.iter().find(|n| n.to_string().starts_with('_')) {
        // rust-hdl's LogicStruct skips such fields, so they have no bits.
        return Err(Error::new(
            hidden.span(),
            "fields of a LogicStruct must not start with `_`",
        ));
    }
    Ok((
        quote!(Self { #(#names: ::ferroce_emit::FromBits::from_bits(source)),* }),
        quote!(#(::ferroce_emit::FromBits::write_bits(&self.#names, sink);)*),
    ))
}

/// Variants are numbered in declaration order from 0, as LogicState does; a
/// number without a variant reads as the first one.
fn enum_bodies(data: &syn::DataEnum) -> (TokenStream, TokenStream) {
    let variants: Vec<_> = data.variants.iter().map(|v| &v.ident).collect();
    let numbers = 0u32..;
    let numbers: Vec<u32> = numbers.take(variants.len()).collect();
    (
        quote! {
            match source.take_u32(<Self as ::ferroce_emit::prelude::Synth>::BITS) {
                #(#numbers => Self::#variants,)*
                _ => <Self as ::std::default::Default>::default(),
            }
        },
        quote! {
            let number: u32 = match self {
                #(Self::#variants => #numbers,)*
            };
            sink.push_u32(number, <Self as ::ferroce_emit::prelude::Synth>::BITS);
        },
    )
}
