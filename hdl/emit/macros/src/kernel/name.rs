//! Signals as names: `self.lanes[i].data` becomes `lanes$0$data`.

use super::constant::mentions_self;
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Error, Expr, Member, Result};

/// Tokens of a `String` that names the signal, sub-block or interface `expr`.
pub fn signal_name(expr: &Expr) -> Result<TokenStream> {
    let mut format = String::new();
    let mut indices = Vec::new();
    collect(expr, &mut format, &mut indices)?;
    Ok(quote!(::std::format!(#format #(, #indices)*)))
}

/// Collects a format string with one `{}` for every array index.
fn collect(expr: &Expr, format: &mut String, indices: &mut Vec<TokenStream>) -> Result<()> {
    match expr {
        Expr::Path(path) if path.path.is_ident("self") => Ok(()),
        Expr::Reference(reference) => collect(&reference.expr, format, indices),
        Expr::Paren(paren) => collect(&paren.expr, format, indices),
        Expr::Group(group) => collect(&group.expr, format, indices),
        Expr::Field(field) => {
            collect(&field.base, format, indices)?;
            let Member::Named(name) = &field.member else {
                return Err(Error::new(field.span(), "tuple fields do not translate"));
            };
            if !format.is_empty() {
                format.push('$');
            }
            format.push_str(&name.to_string());
            Ok(())
        }
        Expr::Index(index) => {
            collect(&index.expr, format, indices)?;
            if mentions_self(&index.index) {
                return Err(Error::new(
                    index.index.span(),
                    "arrays of signals are indexed by loop variables and constants only",
                ));
            }
            format.push_str("${}");
            let value = &index.index;
            indices.push(quote!(#value));
            Ok(())
        }
        _ => Err(Error::new(
            expr.span(),
            "expected a signal: self.name, self.block.name or self.array[i].name",
        )),
    }
}
