//! `#[derive(Module)]`: the port list of a module or interface.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{parse_quote, Data, DeriveInput, Error, Field, Fields, Result, Visibility};

/// Whether a field is a port (or holds ports) of the module.
///
/// Fields whose name starts with `_` are no hardware: rust-hdl's own derives
/// skip them too.
fn is_port(field: &Field) -> bool {
    let hidden = field
        .ident
        .as_ref()
        .is_some_and(|name| name.to_string().starts_with('_'));
    matches!(field.vis, Visibility::Public(_)) && !hidden
}

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "Module is derived for structs"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(input.span(), "Module needs named fields"));
    };
    let ports: Vec<&Field> = fields.named.iter().filter(|f| is_port(f)).collect();
    let names: Vec<_> = ports.iter().filter_map(|f| f.ident.as_ref()).collect();

    let mut generics = input.generics.clone();
    if !generics.params.is_empty() {
        let clause = generics.make_where_clause();
        for field in &ports {
            let ty = &field.ty;
            clause
                .predicates
                .push(parse_quote!(#ty: ::ferroce_emit::Ports));
        }
    }
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::ferroce_emit::Ports for #name #ty_generics #where_clause {
            fn visit_ports(&mut self, visitor: &mut dyn ::ferroce_emit::PortVisitor) {
                #(
                    visitor.enter(stringify!(#names));
                    ::ferroce_emit::Ports::visit_ports(&mut self.#names, visitor);
                    visitor.leave();
                )*
            }
        }
    })
}
