//! `#[kernel]`: the connection and Verilog views of an update function.
//!
//! rust-hdl has a macro for this, `#[hdl_gen]`. This one produces the same
//! AST and understands more of Rust: loops run in Rust when the AST is built,
//! so a loop variable may appear in every expression; constants and `Default`
//! values are evaluated; fields of nested structs can be read and written;
//! an assigned value may be an `if` or `match`; and `.index()` is marked as a
//! widening to `usize`, which decides where additions wrap.

mod connect;
mod constant;
mod expression;
mod name;
mod statement;

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, FnArg, Ident, ImplItemFn, Result, Token};

/// Turns `fn update` into `update`, `connect`, `hdl` and `timing`.
pub fn expand(attr: TokenStream, function: ImplItemFn) -> Result<TokenStream> {
    if !attr.is_empty() {
        return Err(Error::new(attr.span(), "#[kernel] takes no arguments"));
    }
    let signature = &function.sig;
    let me = match signature.inputs.first() {
        Some(FnArg::Receiver(receiver))
            if receiver.mutability.is_some()
                && signature.ident == "update"
                && signature.inputs.len() == 1 =>
        {
            receiver.self_token
        }
        _ => {
            return Err(Error::new(
                signature.span(),
                "#[kernel] belongs on `fn update(&mut self)`",
            ));
        }
    };
    let connect = connect::block(&function.block)?;
    let hdl = statement::block(&function.block)?;
    Ok(quote! {
        #[allow(unreachable_patterns, clippy::all, clippy::pedantic)]
        #function

        #[allow(unused_variables, clippy::all, clippy::pedantic)]
        fn connect(&mut #me) {
            #connect
        }

        #[allow(unused_variables, unreachable_patterns, clippy::all, clippy::pedantic)]
        fn hdl(&#me) -> ::ferroce_emit::runtime::ast::Verilog {
            #[allow(unused_imports)]
            use ::ferroce_emit::runtime::{IntegerConstant as _, SynthConstant as _};
            ::ferroce_emit::runtime::ast::Verilog::Combinatorial(#hdl)
        }

        fn timing(&self) -> ::std::vec::Vec<::ferroce_emit::prelude::TimingInfo> {
            ::ferroce_emit::type_tag::<Self>()
        }
    })
}

/// Arguments of `dff_setup!(self, clock, a, b)` and `clock!(self, clock, a)`.
struct ClockArgs {
    me: Token![self],
    clock: Ident,
    blocks: Vec<Ident>,
}

impl Parse for ClockArgs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let me = input.parse()?;
        input.parse::<Token![,]>()?;
        let clock = input.parse()?;
        let mut blocks = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if !input.is_empty() {
                blocks.push(input.parse()?);
            }
        }
        Ok(Self { me, clock, blocks })
    }
}

/// A macro call that kernels may contain.
enum KernelMacro {
    /// `dff_setup!`: clocks registers and makes them hold.
    DffSetup(ClockArgs),
    /// `clock!`: clocks sub-blocks.
    Clock(ClockArgs),
    /// Simulation-only: no hardware.
    SimulationOnly,
}

fn kernel_macro(call: &syn::Macro) -> Result<KernelMacro> {
    let name = call.path.segments.last().map(|s| s.ident.to_string());
    match name.as_deref() {
        Some("dff_setup") => Ok(KernelMacro::DffSetup(call.parse_body()?)),
        Some("clock") => Ok(KernelMacro::Clock(call.parse_body()?)),
        Some("println" | "eprintln" | "assert" | "assert_eq" | "debug_assert") => {
            Ok(KernelMacro::SimulationOnly)
        }
        _ => Err(Error::new(
            call.span(),
            "only dff_setup!, clock!, assert! and println! may be called in a kernel",
        )),
    }
}

/// A call of `Type::join(&mut self.a, &mut self.b)` or `link`.
struct Wiring<'a> {
    path: &'a syn::Path,
    kind: &'static str,
    source: &'a syn::Expr,
    target: &'a syn::Expr,
}

fn wiring(call: &syn::ExprCall) -> Result<Wiring<'_>> {
    let usage = || {
        Error::new(
            call.span(),
            "the only calls that are statements of a kernel are \
             Type::join(&mut self.a, &mut self.b) and Type::link(..)",
        )
    };
    let syn::Expr::Path(function) = call.func.as_ref() else {
        return Err(usage());
    };
    let last = function.path.segments.last().ok_or_else(usage)?;
    let kind = match last.ident.to_string().as_str() {
        "join" => "join",
        "link" => "link",
        _ => return Err(usage()),
    };
    let mut arguments = call.args.iter();
    match (arguments.next(), arguments.next(), arguments.next()) {
        (Some(source), Some(target), None) if function.path.segments.len() > 1 => Ok(Wiring {
            path: &function.path,
            kind,
            source,
            target,
        }),
        _ => Err(usage()),
    }
}
