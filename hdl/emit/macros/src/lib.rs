//! Attribute and derive macros of `ferroce-emit`; use them through
//! `ferroce_emit::prelude`, where they are documented together.

mod from_bits;
mod kernel;
mod module;

use proc_macro::TokenStream;
use syn::{parse_macro_input, DeriveInput, ImplItemFn};

/// Marks `fn update(&mut self)` of an `impl Logic` block as a hardware kernel.
///
/// Generates `connect()` and `hdl()` from the body, and `timing()`, which
/// carries the Rust type name so that the Verilog module can be named after it.
/// The documentation of `ferroce_emit` lists what the body may contain.
#[proc_macro_attribute]
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ImplItemFn);
    kernel::expand(attr.into(), function)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Implements `Ports` for a `LogicBlock` or `LogicInterface` struct: every
/// `pub` field is a port, an interface of ports, or an array of those;
/// private fields (registers, sub-blocks, temporaries) are skipped.
#[proc_macro_derive(Module)]
pub fn derive_module(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    module::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Implements `FromBits` for a `LogicStruct` struct (first field least
/// significant) or a `LogicState` enum (variants numbered from 0).
#[proc_macro_derive(FromBits)]
pub fn derive_from_bits(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    from_bits::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
