//! `connect()`: marks every signal that the kernel drives.

use super::{kernel_macro, wiring, KernelMacro};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Block, Expr, Member, Result, Stmt};

pub fn block(block: &Block) -> Result<TokenStream> {
    let statements: Vec<TokenStream> = block.stmts.iter().map(statement).collect::<Result<_>>()?;
    Ok(quote!(#(#statements)*))
}

fn statement(statement: &Stmt) -> Result<TokenStream> {
    match statement {
        Stmt::Expr(expr, _) => expression(expr),
        Stmt::Macro(call) => macro_call(&call.mac),
        // `hdl()` reports what does not translate.
        _ => Ok(TokenStream::new()),
    }
}

fn expression(expr: &Expr) -> Result<TokenStream> {
    match expr {
        Expr::Assign(assign) => Ok(driven_signal(&assign.left)
            .map(|signal| connect(&quote!(#signal)))
            .unwrap_or_default()),
        Expr::If(branch) => {
            let then = block(&branch.then_branch)?;
            let otherwise = match &branch.else_branch {
                Some((_, otherwise)) => expression(otherwise)?,
                None => TokenStream::new(),
            };
            Ok(quote!(#then #otherwise))
        }
        Expr::Block(inner) => block(&inner.block),
        Expr::Match(choice) => {
            let arms: Vec<_> = choice
                .arms
                .iter()
                .map(|arm| expression(&arm.body))
                .collect::<Result<_>>()?;
            Ok(quote!(#(#arms)*))
        }
        Expr::ForLoop(repeat) => {
            let (index, range, body) = (&repeat.pat, &repeat.expr, block(&repeat.body)?);
            Ok(quote!(for #index in #range { #body }))
        }
        Expr::Group(group) => expression(&group.expr),
        Expr::Macro(call) => macro_call(&call.mac),
        Expr::Call(call) => {
            let wiring = wiring(call)?;
            let (source, target) = (wiring.source, wiring.target);
            let function = match wiring.kind {
                "join" => quote!(logic_connect_join_fn),
                _ => quote!(logic_connect_link_fn),
            };
            Ok(quote!(::ferroce_emit::runtime::logic::#function(#source, #target);))
        }
        _ => Ok(TokenStream::new()),
    }
}

fn macro_call(call: &syn::Macro) -> Result<TokenStream> {
    let (args, registers) = match kernel_macro(call)? {
        KernelMacro::DffSetup(args) => (args, true),
        KernelMacro::Clock(args) => (args, false),
        KernelMacro::SimulationOnly => return Ok(TokenStream::new()),
    };
    let me = &args.me;
    let mut statements = TokenStream::new();
    for block in &args.blocks {
        statements.extend(connect(&quote!(#me.#block.clock)));
        if registers {
            statements.extend(connect(&quote!(#me.#block.d)));
        }
    }
    Ok(statements)
}

fn connect(signal: &TokenStream) -> TokenStream {
    quote!(::ferroce_emit::runtime::logic::logic_connect_fn(&mut #signal);)
}

/// The signal under `<signal>.next` or `<signal>.next.field`.
fn driven_signal(left: &Expr) -> Option<&Expr> {
    let Expr::Field(field) = left else {
        return None;
    };
    match &field.member {
        Member::Named(name) if name == "next" => Some(&field.base),
        _ => driven_signal(&field.base),
    }
}
