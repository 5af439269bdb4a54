//! Statements of `hdl()`.

use super::expression::{compute, field_accessors};
use super::name::signal_name;
use super::{constant, kernel_macro, wiring, KernelMacro};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Block, Error, Expr, ExprField, ExprPath, Ident, Member, Pat, Result, Stmt};

/// A block as an expression of type `VerilogBlock`.
pub fn block(block: &Block) -> Result<TokenStream> {
    let statements: Vec<TokenStream> = block.stmts.iter().map(statement).collect::<Result<_>>()?;
    Ok(collected(&statements))
}

/// Runs statements that push to `code`.
fn collected(statements: &[TokenStream]) -> TokenStream {
    quote!({
        #[allow(unused_mut)]
        let mut code: ::std::vec::Vec<::ferroce_emit::runtime::ast::VerilogStatement> =
            ::std::vec::Vec::new();
        #(#statements)*
        code
    })
}

fn statement(statement: &Stmt) -> Result<TokenStream> {
    match statement {
        Stmt::Expr(expr, _) => expression(expr),
        Stmt::Macro(call) => macro_call(&call.mac),
        _ => Err(Error::new(
            statement.span(),
            "definitions do not translate: use a Signal<Local, T> for a temporary",
        )),
    }
}

/// Tokens that push the statement's translation to `code`.
fn expression(expr: &Expr) -> Result<TokenStream> {
    match expr {
        Expr::Assign(assign) => assignment(&assign.left, &assign.right),
        Expr::If(branch) => conditional(branch, &|body| block(body)),
        Expr::Match(choice) => selection(choice, &arm_body),
        Expr::Block(inner) => {
            let statements: Vec<_> = inner
                .block
                .stmts
                .iter()
                .map(statement)
                .collect::<Result<_>>()?;
            Ok(quote!({ #(#statements)* }))
        }
        Expr::ForLoop(repeat) => {
            if constant::mentions_self(&repeat.expr) {
                return Err(Error::new(
                    repeat.expr.span(),
                    "loops run when the hardware is generated: the range must be constant",
                ));
            }
            let (index, range) = (&repeat.pat, &repeat.expr);
            let statements: Vec<_> = repeat
                .body
                .stmts
                .iter()
                .map(statement)
                .collect::<Result<_>>()?;
            Ok(quote!(for #index in #range { #(#statements)* }))
        }
        Expr::Group(group) => expression(&group.expr),
        Expr::Macro(call) => macro_call(&call.mac),
        Expr::Call(call) => {
            let wiring = wiring(call)?;
            let mut path = wiring.path.clone();
            if let Some(last) = path.segments.last_mut() {
                last.ident = format_ident!("{}_hdl", wiring.kind);
            }
            let (source, target) = (signal_name(wiring.source)?, signal_name(wiring.target)?);
            Ok(push(&quote!(Link(#path("", &#source, &#target)))))
        }
        _ => Err(Error::new(expr.span(), "this statement does not translate")),
    }
}

fn push(statement: &TokenStream) -> TokenStream {
    quote!(code.push(::ferroce_emit::runtime::ast::VerilogStatement::#statement);)
}

fn macro_call(call: &syn::Macro) -> Result<TokenStream> {
    let (args, registers) = match kernel_macro(call)? {
        KernelMacro::DffSetup(args) => (args, true),
        KernelMacro::Clock(args) => (args, false),
        KernelMacro::SimulationOnly => return Ok(TokenStream::new()),
    };
    let copy = |target: String, source: String| {
        push(&quote!(Assignment(
            ::ferroce_emit::runtime::signal(#target),
            ::ferroce_emit::runtime::signal(#source)
        )))
    };
    let mut statements = TokenStream::new();
    for block in &args.blocks {
        statements.extend(copy(format!("{block}$clock"), args.clock.to_string()));
        if registers {
            statements.extend(copy(format!("{block}$d"), format!("{block}$q")));
        }
    }
    Ok(statements)
}

/// An assignment; an `if` or `match` on the right becomes one around it.
fn assignment(left: &Expr, right: &Expr) -> Result<TokenStream> {
    match right {
        Expr::If(branch) => {
            if branch.else_branch.is_none() {
                return Err(Error::new(branch.span(), "this `if` needs an `else`"));
            }
            conditional(branch, &|body| assigned_block(left, body))
        }
        Expr::Match(choice) => selection(choice, &|body| {
            let inner = assignment(left, body)?;
            Ok(collected(&[inner]))
        }),
        Expr::Block(inner) => {
            let value = only_value(&inner.block)?;
            assignment(left, value)
        }
        _ => simple_assignment(left, right),
    }
}

fn assigned_block(left: &Expr, body: &Block) -> Result<TokenStream> {
    let inner = assignment(left, only_value(body)?)?;
    Ok(collected(&[inner]))
}

/// The value of a block that is nothing but a value.
fn only_value(block: &Block) -> Result<&Expr> {
    match block.stmts.as_slice() {
        [Stmt::Expr(value, None)] => Ok(value),
        _ => Err(Error::new(
            block.span(),
            "a block that gives a value may contain nothing else",
        )),
    }
}

fn simple_assignment(left: &Expr, right: &Expr) -> Result<TokenStream> {
    let (signal, fields) = target(left)?;
    let name = signal_name(signal)?;
    let value = compute(right)?;
    if fields.is_empty() {
        return Ok(push(&quote!(Assignment(
            ::ferroce_emit::runtime::signal(&#name),
            #value
        ))));
    }
    // Offsets of nested fields add up; the last field gives the width.
    let mut base = quote!(#signal.next);
    let mut offset = quote!(0usize);
    let mut width = quote!(0usize);
    for field in &fields {
        let (get_width, get_offset) = field_accessors(field);
        offset = quote!(#offset + #base.#get_offset());
        width = quote!(#base.#get_width());
        base = quote!(#base.#field);
    }
    Ok(push(&quote!(SliceAssignment {
        base: ::ferroce_emit::runtime::signal(&#name),
        width: #width,
        offset: ::ferroce_emit::runtime::ast::VerilogExpression::Literal((#offset).into()),
        replacement: #value,
    })))
}

/// Splits `<signal>.next.a.b` into the signal and `[a, b]`.
fn target(left: &Expr) -> Result<(&Expr, Vec<&Ident>)> {
    let usage = || {
        Error::new(
            left.span(),
            "kernels assign to <signal>.next or <signal>.next.<field>",
        )
    };
    let mut fields = Vec::new();
    let mut at = left;
    loop {
        let Expr::Field(ExprField { base, member, .. }) = at else {
            return Err(usage());
        };
        match member {
            Member::Named(name) if name == "next" => {
                fields.reverse();
                return Ok((base, fields));
            }
            Member::Named(name) => fields.push(name),
            Member::Unnamed(_) => return Err(usage()),
        }
        at = base;
    }
}

fn conditional(
    branch: &syn::ExprIf,
    body: &dyn Fn(&Block) -> Result<TokenStream>,
) -> Result<TokenStream> {
    let statement = conditional_statement(branch, body)?;
    Ok(quote!(code.push(#statement);))
}

/// An `if` as an expression of type `VerilogStatement`.
fn conditional_statement(
    branch: &syn::ExprIf,
    body: &dyn Fn(&Block) -> Result<TokenStream>,
) -> Result<TokenStream> {
    let test = compute(&branch.cond)?;
    let then = body(&branch.then_branch)?;
    let ast = quote!(::ferroce_emit::runtime::ast);
    let otherwise = match &branch.else_branch {
        None => quote!(#ast::VerilogBlockOrConditional::None),
        Some((_, otherwise)) => match otherwise.as_ref() {
            Expr::If(inner) => {
                let inner = conditional_statement(inner, body)?;
                quote!(#ast::VerilogBlockOrConditional::Conditional(::std::boxed::Box::new(#inner)))
            }
            Expr::Block(inner) => {
                let inner = body(&inner.block)?;
                quote!(#ast::VerilogBlockOrConditional::Block(#inner))
            }
            other => return Err(Error::new(other.span(), "this `else` does not translate")),
        },
    };
    Ok(quote!(#ast::VerilogStatement::If(#ast::VerilogConditional {
        test: #test,
        then: #then,
        otherwise: #otherwise,
    })))
}

fn selection(
    choice: &syn::ExprMatch,
    body: &dyn Fn(&Expr) -> Result<TokenStream>,
) -> Result<TokenStream> {
    let test = compute(&choice.expr)?;
    let ast = quote!(::ferroce_emit::runtime::ast);
    let mut cases = Vec::new();
    for arm in &choice.arms {
        if let Some((_, guard)) = &arm.guard {
            return Err(Error::new(guard.span(), "guards do not translate"));
        }
        let condition = pattern(&arm.pat)?;
        let block = body(&arm.body)?;
        cases.push(quote!(#ast::VerilogCase { condition: #condition, block: #block }));
    }
    Ok(push(&quote!(Match(#ast::VerilogMatch {
        test: #test,
        cases: ::std::vec![#(#cases),*],
    }))))
}

fn arm_body(body: &Expr) -> Result<TokenStream> {
    match body {
        Expr::Block(inner) => block(&inner.block),
        Expr::Tuple(unit) if unit.elems.is_empty() => Ok(collected(&[])),
        other => Ok(collected(&[expression(other)?])),
    }
}

/// A pattern as a `String`: `default`, or constants joined by `|`.
fn pattern(pat: &Pat) -> Result<TokenStream> {
    let constant = |path: &ExprPath| {
        let label = constant::label(path);
        quote!((&&::ferroce_emit::runtime::Constant(&#path)).pattern(#label))
    };
    match pat {
        Pat::Wild(_) => Ok(quote!(::std::string::String::from("default"))),
        Pat::Path(path) => Ok(constant(path)),
        Pat::Ident(ident) if ident.ident.to_string().starts_with(char::is_uppercase) => {
            let name = &ident.ident;
            Ok(constant(&syn::parse_quote!(#name)))
        }
        Pat::Lit(lit) => match &lit.lit {
            syn::Lit::Bool(_) => {
                Ok(quote!((&&::ferroce_emit::runtime::Constant(&#lit)).pattern("")))
            }
            other => Err(Error::new(other.span(), "this pattern does not translate")),
        },
        Pat::Paren(paren) => pattern(&paren.pat),
        Pat::Or(choices) => {
            let choices: Vec<_> = choices.cases.iter().map(pattern).collect::<Result<_>>()?;
            Ok(quote!([#(#choices),*].join("|")))
        }
        other => Err(Error::new(other.span(), "this pattern does not translate")),
    }
}
