//! Expressions and statements as Verilog text.

use crate::ir::{Arm, Binary, Expr, Kind, Statement, Target, Unary};
use crate::names::NameSpace;
use num_bigint::BigUint;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names of one module, and what its expressions need declared.
pub(crate) struct Printer {
    /// Verilog names of signals.
    pub names: BTreeMap<String, String>,
    /// All identifiers of the module.
    pub space: NameSpace,
    /// Named constants in use: label, width, value to name.
    constants: BTreeMap<(String, usize, BigUint), String>,
    /// Slice functions in use: argument width, offset, width to the names of
    /// the function and its argument.
    slices: BTreeMap<(usize, usize, usize), (String, String)>,
    /// Fields of struct signals, for comments: name, offset, width.
    pub fields: BTreeMap<String, Vec<(String, usize, usize)>>,
}

impl Printer {
    pub fn new() -> Self {
        Self {
            names: BTreeMap::new(),
            space: NameSpace::default(),
            constants: BTreeMap::new(),
            slices: BTreeMap::new(),
            fields: BTreeMap::new(),
        }
    }

    pub fn name(&self, signal: &str) -> String {
        match self.names.get(signal) {
            Some(name) => name.clone(),
            None => crate::names::verilog_name(signal),
        }
    }

    /// Declarations of the constants and functions that were used so far.
    pub fn declarations(&self) -> String {
        let mut text = String::new();
        let mut constants: Vec<_> = self.constants.iter().collect();
        constants.sort_by_key(|((label, width, value), _)| {
            let kind = label.rsplit_once("::").map(|(kind, _)| kind.to_owned());
            (kind, *width, value.clone(), label.clone())
        });
        for ((_, width, value), name) in constants {
            let range = range(*width);
            let _ = writeln!(
                text,
                "    localparam {range}{name} = {};",
                literal(value, *width)
            );
        }
        for ((from, offset, width), (name, argument)) in &self.slices {
            let _ = writeln!(
                text,
                "\n    function {}{name}(input {}{argument});\n        {name} = {argument}{};\n    endfunction",
                range(*width),
                range(*from),
                select(*from, *offset, *width)
            );
        }
        text
    }

    /// An expression; in parentheses if it has an operator outside.
    fn operand(&mut self, expr: &Expr) -> String {
        let text = self.expr(expr);
        let has_operator = match &expr.kind {
            Kind::Binary(..) | Kind::Unary(..) | Kind::Shift { .. } | Kind::Choice { .. } => true,
            Kind::Signal(_)
            | Kind::Constant { .. }
            | Kind::Slice { .. }
            | Kind::Select { .. }
            | Kind::Concat(_)
            | Kind::Repeat(_) => false,
        };
        if has_operator {
            format!("({text})")
        } else {
            text
        }
    }

    pub fn expr(&mut self, expr: &Expr) -> String {
        match &expr.kind {
            Kind::Signal(name) => self.name(name),
            Kind::Constant { value, label } if label.is_empty() => literal(value, expr.width),
            Kind::Constant { value, label } => self.constant(label, expr.width, value),
            Kind::Slice { base, offset } => match base.whole_signal() {
                Some(name) => self.name(name) + &select(base.width, *offset, expr.width),
                None => {
                    let function = self.slice_function(base.width, *offset, expr.width);
                    format!("{function}({})", self.expr(base))
                }
            },
            Kind::Select { signal, at } => {
                let (signal, at) = (self.expr(signal), self.expr(at));
                if expr.width == 1 {
                    format!("{signal}[{at}]")
                } else {
                    format!("{signal}[{at} +: {}]", expr.width)
                }
            }
            Kind::Concat(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.expr(part)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            Kind::Repeat(bit) => format!("{{{}{{{}}}}}", expr.width, self.expr(bit)),
            Kind::Binary(op, left, right) => {
                let ordered = matches!(op, Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge);
                let signed = ordered && left.signed && right.signed;
                let mut side = |operand: &Expr| {
                    if signed {
                        format!("$signed({})", self.expr(operand))
                    } else {
                        self.operand(operand)
                    }
                };
                let (left, right) = (side(left), side(right));
                format!("{left} {} {right}", symbol(*op))
            }
            Kind::Unary(op, operand) => {
                let symbol = match op {
                    Unary::Not if expr.width == 1 => "!",
                    Unary::Not => "~",
                    Unary::Neg => "-",
                    Unary::All => "&",
                    Unary::Any => "|",
                    Unary::Xor => "^",
                };
                format!("{symbol}{}", self.operand(operand))
            }
            Kind::Shift {
                left,
                value,
                amount,
            } => {
                let symbol = if *left { "<<" } else { ">>" };
                let amount = match amount.constant() {
                    Some(places) => places.to_string(),
                    None => self.operand(amount),
                };
                format!("{} {symbol} {amount}", self.operand(value))
            }
            Kind::Choice {
                test,
                then,
                otherwise,
            } => format!(
                "{} ? {} : {}",
                self.operand(test),
                self.operand(then),
                self.operand(otherwise)
            ),
        }
    }

    fn constant(&mut self, label: &str, width: usize, value: &BigUint) -> String {
        let key = (label.to_owned(), width, value.clone());
        if let Some(name) = self.constants.get(&key) {
            return name.clone();
        }
        let wanted = crate::names::constant_name(label);
        let name = self.space.allocate(&wanted);
        self.constants.insert(key, name.clone());
        name
    }

    fn slice_function(&mut self, from: usize, offset: usize, width: usize) -> String {
        let key = (from, offset, width);
        if let Some((name, _)) = self.slices.get(&key) {
            return name.clone();
        }
        let wanted = format!("bits_{}_{offset}_of_{from}", offset + width - 1);
        let name = self.space.allocate(&wanted);
        let argument = self.space.allocate(&format!("{wanted}_in"));
        self.slices.insert(key, (name.clone(), argument));
        name
    }

    /// A signal that has one value; a struct of many parts gets a line for
    /// each of them.
    pub fn wire(&mut self, signal: &str, value: &Expr, text: &mut String) {
        let name = self.name(signal);
        let parts = match &value.kind {
            Kind::Concat(parts) if self.fields.contains_key(signal) => parts,
            _ => {
                let value = self.expr(value);
                let _ = writeln!(text, "    assign {name} = {value};");
                return;
            }
        };
        let _ = writeln!(text, "    assign {name} = {{");
        let mut above = value.width;
        for part in parts {
            above -= part.width;
            let comment = self.field_comment(&Target {
                signal: signal.to_owned(),
                offset: above,
                width: part.width,
                whole: false,
            });
            let comma = if above == 0 { "" } else { "," };
            let part = self.expr(part);
            let _ = writeln!(text, "        {part}{comma}{comment}");
        }
        text.push_str("    };\n");
    }

    /// A statement inside an `always` block.
    pub fn statement(&mut self, statement: &Statement, indent: usize, text: &mut String) {
        let pad = "    ".repeat(indent);
        match statement {
            Statement::Assign { target, value } => {
                let value = self.expr(value);
                let comment = self.field_comment(target);
                let target = self.target(target);
                let _ = writeln!(text, "{pad}{target} = {value};{comment}");
            }
            Statement::If { .. } => {
                let _ = write!(text, "{pad}");
                self.conditional(statement, indent, text);
            }
            Statement::Case { test, arms } => {
                let _ = writeln!(text, "{pad}case ({})", self.expr(test));
                for (index, arm) in arms.iter().enumerate() {
                    self.arm(arm, index + 1 == arms.len(), indent + 1, text);
                }
                let _ = writeln!(text, "{pad}endcase");
            }
        }
    }

    fn conditional(&mut self, statement: &Statement, indent: usize, text: &mut String) {
        let Statement::If {
            test,
            then,
            otherwise,
        } = statement
        else {
            return;
        };
        let pad = "    ".repeat(indent);
        let _ = writeln!(text, "if ({}) begin", self.expr(test));
        self.block(then, indent + 1, text);
        match otherwise.as_slice() {
            [] => {}
            [chained @ Statement::If { .. }] => {
                let _ = write!(text, "{pad}end else ");
                self.conditional(chained, indent, text);
                return;
            }
            _ => {
                let _ = writeln!(text, "{pad}end else begin");
                self.block(otherwise, indent + 1, text);
            }
        }
        let _ = writeln!(text, "{pad}end");
    }

    fn arm(&mut self, arm: &Arm, is_last: bool, indent: usize, text: &mut String) {
        let pad = "    ".repeat(indent);
        let patterns: Vec<_> = arm.patterns.iter().map(|p| self.expr(p)).collect();
        let patterns = patterns.join(", ");
        // Rust's match is exhaustive, so the last arm takes the rest; saying
        // so keeps numbers without a variant from inferring a latch.
        match (is_last, patterns.is_empty()) {
            (true, false) => {
                let _ = writeln!(text, "{pad}default: begin // {patterns}");
            }
            (_, true) => {
                let _ = writeln!(text, "{pad}default: begin");
            }
            (false, false) => {
                let _ = writeln!(text, "{pad}{patterns}: begin");
            }
        }
        self.block(&arm.body, indent + 1, text);
        let _ = writeln!(text, "{pad}end");
    }

    fn block(&mut self, code: &[Statement], indent: usize, text: &mut String) {
        for statement in code {
            self.statement(statement, indent, text);
        }
    }

    pub fn target(&self, target: &Target) -> String {
        let name = self.name(&target.signal);
        if target.whole {
            name
        } else {
            // Only struct fields are assigned in part, so there is a range.
            let high = target.offset + target.width - 1;
            if target.width == 1 {
                format!("{name}[{high}]")
            } else {
                format!("{name}[{high}:{}]", target.offset)
            }
        }
    }

    /// The name of the struct field that an assignment writes.
    fn field_comment(&self, target: &Target) -> String {
        let fields = self.fields.get(&target.signal);
        let field = fields.into_iter().flatten().find(|(_, offset, width)| {
            !target.whole && *offset == target.offset && *width == target.width
        });
        field.map_or_else(String::new, |(name, _, _)| format!(" // .{name}"))
    }
}

fn symbol(op: Binary) -> &'static str {
    match op {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::And => "&",
        Binary::Or => "|",
        Binary::Xor => "^",
        Binary::LogicalAnd => "&&",
        Binary::LogicalOr => "||",
        Binary::Eq => "==",
        Binary::Ne => "!=",
        Binary::Lt => "<",
        Binary::Le => "<=",
        Binary::Gt => ">",
        Binary::Ge => ">=",
    }
}

/// `[7:0] ` or nothing.
pub(crate) fn range(width: usize) -> String {
    if width == 1 {
        String::new()
    } else {
        format!("[{}:0] ", width - 1)
    }
}

fn select(of: usize, offset: usize, width: usize) -> String {
    if of == 1 {
        String::new()
    } else if width == 1 {
        format!("[{offset}]")
    } else {
        format!("[{}:{offset}]", offset + width - 1)
    }
}

/// A sized literal.
pub(crate) fn literal(value: &BigUint, width: usize) -> String {
    if width == 1 {
        format!("1'b{value}")
    } else if *value < BigUint::from(10u32) {
        format!("{width}'d{value}")
    } else {
        format!("{width}'h{value:x}")
    }
}
