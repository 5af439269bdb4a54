//! Expressions that Rust evaluates when the hardware is generated.

use proc_macro2::{TokenStream, TokenTree};
use quote::{quote, ToTokens};
use syn::{Error, Expr, ExprLit, ExprPath, Lit, Result};

/// Whether `self` occurs in it: if not, it is a constant of generation.
pub fn mentions_self(tokens: &impl ToTokens) -> bool {
    fn search(stream: TokenStream) -> bool {
        stream.into_iter().any(|tree| match tree {
            TokenTree::Ident(ident) => ident == "self",
            TokenTree::Group(group) => search(group.stream()),
            _ => false,
        })
    }
    search(tokens.to_token_stream())
}

/// A literal; integers take the width of what they meet.
pub fn literal(lit: &ExprLit) -> Result<TokenStream> {
    match &lit.lit {
        Lit::Int(int) => {
            let value: u128 = int.base10_parse()?;
            Ok(quote!(::ferroce_emit::runtime::integer(#value)))
        }
        Lit::Bool(value) => Ok(quote!(::ferroce_emit::runtime::boolean(#value))),
        other => Err(Error::new(other.span(), "this literal has no bits")),
    }
}

/// A named constant, enum variant or loop variable.
pub fn named(path: &ExprPath) -> TokenStream {
    let label = label(path);
    quote!((&&::ferroce_emit::runtime::Constant(&#path)).expression(#label))
}

/// Any other expression without `self`.
pub fn evaluated(expr: &Expr) -> TokenStream {
    quote!((&&::ferroce_emit::runtime::Constant(&(#expr))).expression(""))
}

/// How Verilog shall call it: `State::Idle` or `OP_SEND`; nothing for loop
/// variables, whose value says it all.
pub fn label(path: &ExprPath) -> String {
    let names: Vec<String> = path
        .path
        .segments
        .iter()
        .map(|s| s.ident.to_string())
        .collect();
    let is_constant = |name: &String| name.starts_with(|c: char| c.is_uppercase());
    match names.as_slice() {
        [.., kind, last] if is_constant(kind) && is_constant(last) && kind != "Self" => {
            format!("{kind}::{last}")
        }
        [.., last] if is_constant(last) => last.clone(),
        _ => String::new(),
    }
}
