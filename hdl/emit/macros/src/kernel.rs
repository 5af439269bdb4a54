//! `#[kernel]`: the Verilog view of an update function.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Error, ImplItemFn, Result};

pub fn expand(attr: TokenStream, function: ImplItemFn) -> Result<TokenStream> {
    if !attr.is_empty() {
        return Err(Error::new(attr.span(), "#[kernel] takes no arguments"));
    }
    if function.sig.ident != "update" {
        return Err(Error::new(
            function.sig.ident.span(),
            "#[kernel] belongs on `fn update(&mut self)`",
        ));
    }
    Ok(quote! {
        #[::ferroce_emit::prelude::hdl_gen]
        #function

        fn timing(&self) -> ::std::vec::Vec<::ferroce_emit::prelude::TimingInfo> {
            ::ferroce_emit::type_tag::<Self>()
        }
    })
}
