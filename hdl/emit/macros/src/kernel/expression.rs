//! Expressions of `hdl()`.

use super::constant::{evaluated, literal, mentions_self, named};
use super::name::signal_name;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    BinOp, Error, Expr, ExprCall, ExprField, ExprMethodCall, GenericArgument, Ident, Member,
    PathArguments, Result, UnOp,
};

/// The accessors that LogicStruct generates for a field: width and offset.
pub fn field_accessors(field: &Ident) -> (Ident, Ident) {
    (
        format_ident!("get_my_width_{}", field),
        format_ident!("get_my_offset_{}", field),
    )
}

/// A node of the AST whose operands are boxed.
fn node(kind: &str, operands: &[TokenStream]) -> TokenStream {
    let kind = format_ident!("{kind}");
    quote!(::ferroce_emit::runtime::ast::VerilogExpression::#kind(#(#operands),*))
}

fn boxed(expr: &Expr) -> Result<TokenStream> {
    let value = compute(expr)?;
    Ok(quote!(::std::boxed::Box::new(#value)))
}

/// An expression of type `VerilogExpression` for `expr`.
pub fn compute(expr: &Expr) -> Result<TokenStream> {
    match expr {
        Expr::Lit(lit) => literal(lit),
        Expr::Path(path) => Ok(named(path)),
        // Around what a macro_rules parameter stands for.
        Expr::Group(group) => compute(&group.expr),
        Expr::Paren(paren) => Ok(node("Paren", &[boxed(&paren.expr)?])),
        Expr::Field(field) => struct_field(field),
        Expr::MethodCall(call) => method(call),
        Expr::Call(call) => function(call),
        Expr::Unary(unary) => {
            let operator = match unary.op {
                UnOp::Not(_) => quote!(Not),
                UnOp::Neg(_) => quote!(Neg),
                _ => return Err(Error::new(unary.span(), "this operator does not translate")),
            };
            let operator = quote!(::ferroce_emit::runtime::ast::VerilogOpUnary::#operator);
            Ok(node("Unary", &[operator, boxed(&unary.expr)?]))
        }
        Expr::Binary(_) | Expr::Cast(_) if !mentions_self(expr) => Ok(evaluated(expr)),
        Expr::Binary(binary) => {
            let operator = operator(&binary.op)?;
            let operator = quote!(::ferroce_emit::runtime::ast::VerilogOp::#operator);
            let (left, right) = (boxed(&binary.left)?, boxed(&binary.right)?);
            Ok(node("Binary", &[left, operator, right]))
        }
        _ => Err(Error::new(
            expr.span(),
            "this expression does not translate",
        )),
    }
}

fn operator(op: &BinOp) -> Result<TokenStream> {
    Ok(match op {
        BinOp::Add(_) => quote!(Add),
        BinOp::Sub(_) => quote!(Sub),
        BinOp::Mul(_) => quote!(Mul),
        BinOp::And(_) => quote!(LogicalAnd),
        BinOp::Or(_) => quote!(LogicalOr),
        BinOp::BitXor(_) => quote!(BitXor),
        BinOp::BitAnd(_) => quote!(BitAnd),
        BinOp::BitOr(_) => quote!(BitOr),
        BinOp::Shl(_) => quote!(Shl),
        BinOp::Shr(_) => quote!(Shr),
        BinOp::Eq(_) => quote!(Eq),
        BinOp::Lt(_) => quote!(Lt),
        BinOp::Le(_) => quote!(Le),
        BinOp::Ne(_) => quote!(Ne),
        BinOp::Ge(_) => quote!(Ge),
        BinOp::Gt(_) => quote!(Gt),
        _ => return Err(Error::new(op.span(), "this operator does not translate")),
    })
}

/// `<value>.field` of a struct value: a slice of its bits.
fn struct_field(field: &ExprField) -> Result<TokenStream> {
    let base = &field.base;
    let is_value = matches!(
        base.as_ref(),
        Expr::MethodCall(_) | Expr::Field(_) | Expr::Paren(_) | Expr::Group(_)
    );
    let Member::Named(name) = &field.member else {
        return Err(Error::new(field.span(), "tuple fields do not translate"));
    };
    if name == "next" {
        return Err(Error::new(name.span(), "read signals with .val()"));
    }
    if !is_value {
        return Err(Error::new(field.span(), "read signals with .val()"));
    }
    let value = boxed(base)?;
    let (width, offset) = field_accessors(name);
    let offset = quote!(::std::boxed::Box::new(
        ::ferroce_emit::runtime::integer((#base).#offset() as u128)
    ));
    Ok(node("Slice", &[value, quote!((#base).#width()), offset]))
}

fn argument(call: &ExprMethodCall, index: usize) -> Result<TokenStream> {
    match call.args.iter().nth(index) {
        Some(argument) => boxed(argument),
        None => Err(Error::new(call.span(), "an argument is missing")),
    }
}

fn method(call: &ExprMethodCall) -> Result<TokenStream> {
    let receiver = &call.receiver;
    let unary = |operator: &str| -> Result<TokenStream> {
        let operator = format_ident!("{operator}");
        let operator = quote!(::ferroce_emit::runtime::ast::VerilogOpUnary::#operator);
        Ok(node("Unary", &[operator, boxed(receiver)?]))
    };
    match call.method.to_string().as_str() {
        "val" => {
            let name = signal_name(receiver)?;
            Ok(quote!(::ferroce_emit::runtime::signal(&#name)))
        }
        "into" => compute(receiver),
        "to_bits" => match turbofish(call) {
            Some(width) => Ok(node("Cast", &[boxed(receiver)?, width])),
            None => compute(receiver),
        },
        // Arithmetic after `.index()` is usize arithmetic and does not wrap
        // at the width of the bits.
        "index" => Ok(node("Cast", &[boxed(receiver)?, quote!(64usize)])),
        "get_bits" => {
            let width = turbofish(call)
                .ok_or_else(|| Error::new(call.span(), "write get_bits::<WIDTH>(offset)"))?;
            Ok(node(
                "Slice",
                &[boxed(receiver)?, width, argument(call, 0)?],
            ))
        }
        "get_bit" => Ok(node("Index", &[boxed(receiver)?, argument(call, 0)?])),
        "replace_bit" => Ok(node(
            "IndexReplace",
            &[boxed(receiver)?, argument(call, 0)?, argument(call, 1)?],
        )),
        "all" => unary("All"),
        "any" => unary("Any"),
        "xor" => unary("Xor"),
        "inner" => Ok(node("Unsigned", &[boxed(receiver)?])),
        _ => Err(Error::new(
            call.method.span(),
            "this method does not translate",
        )),
    }
}

/// The first generic argument of a method call, as an expression.
fn turbofish(call: &ExprMethodCall) -> Option<TokenStream> {
    let argument = call.turbofish.as_ref()?.args.first()?;
    Some(generic_value(argument))
}

fn generic_value(argument: &GenericArgument) -> TokenStream {
    quote!(#argument)
}

/// The first generic argument of any segment of the called path.
fn first_generic(path: &syn::Path) -> Option<TokenStream> {
    path.segments.iter().find_map(|s| match &s.arguments {
        PathArguments::AngleBracketed(list) => list.args.first().map(generic_value),
        _ => None,
    })
}

fn function(call: &ExprCall) -> Result<TokenStream> {
    let Expr::Path(path) = call.func.as_ref() else {
        return Err(Error::new(call.span(), "this call does not translate"));
    };
    let names: Vec<String> = path
        .path
        .segments
        .iter()
        .map(|s| s.ident.to_string())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let width = first_generic(&path.path);
    match (names.as_slice(), call.args.first(), width) {
        ([.., "bit_cast"], Some(value), Some(width)) => Ok(node("Cast", &[boxed(value)?, width])),
        ([.., "bit_cast" | "signed_bit_cast" | "unsigned_bit_cast"], _, None) => Err(Error::new(
            call.span(),
            "write the widths: bit_cast::<TO, FROM>(value)",
        )),
        ([.., "bits"] | [.., "Bits", "from"], Some(value), Some(width)) => {
            Ok(node("Cast", &[boxed(value)?, width]))
        }
        ([.., "bits"] | [.., "Bits", "from"], Some(value), None) => compute(value),
        ([.., "signed_cast"], Some(value), _) => Ok(node("Signed", &[boxed(value)?])),
        ([.., "unsigned_cast"], Some(value), _) => Ok(node("Unsigned", &[boxed(value)?])),
        ([.., "signed_bit_cast"], Some(value), Some(width)) => {
            let value = node("Signed", &[boxed(value)?]);
            let cast = node("Cast", &[quote!(::std::boxed::Box::new(#value)), width]);
            Ok(node("Signed", &[quote!(::std::boxed::Box::new(#cast))]))
        }
        ([.., "unsigned_bit_cast"], Some(value), Some(width)) => {
            let value = node("Unsigned", &[boxed(value)?]);
            Ok(node(
                "Cast",
                &[quote!(::std::boxed::Box::new(#value)), width],
            ))
        }
        (["Default", "default"], None, _) => Ok(quote!(::ferroce_emit::runtime::integer(0))),
        _ if !mentions_self(call) => Ok(evaluated(&Expr::Call(call.clone()))),
        _ => Err(Error::new(
            call.span(),
            "this call does not translate: functions get constants only",
        )),
    }
}
