//! What can be wrong with a design.

use thiserror::Error;

/// Why a design can't be printed as Verilog.
///
/// `module` is the instance path from the top with the Rust type, `signal`
/// the path of fields inside that module joined by `.`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EmitError {
    /// Nothing drives an output, temporary, register or input of a sub-block.
    #[error("{module}: nothing drives `{signal}`")]
    Unconnected {
        /// Where.
        module: String,
        /// Which.
        signal: String,
    },
    /// Some path through the kernel leaves bits without a value.
    #[error(
        "{module}: `{signal}` keeps its old value on some path (a latch); assign a default first"
    )]
    Latch {
        /// Where.
        module: String,
        /// Which.
        signal: String,
    },
    /// A temporary or output is read before the kernel gives it a value.
    #[error("{module}: `{signal}` is read before it has a value (a combinational loop)")]
    ReadBeforeWrite {
        /// Where.
        module: String,
        /// Which.
        signal: String,
    },
    /// An input of a sub-block is read before its last assignment: Rust would
    /// see the settled value, Verilog the intermediate one.
    #[error("{module}: `{signal}` is read before it is assigned for the last time")]
    ReadOfUnfinished {
        /// Where.
        module: String,
        /// Which.
        signal: String,
    },
    /// Signals of a module depend on themselves within one cycle.
    #[error("{module}: combinational loop through {signals:?}")]
    CombinationalLoop {
        /// Where.
        module: String,
        /// The signals of the loop, in order.
        signals: Vec<String>,
    },
    /// The kernel writes what it may only read.
    #[error("{module}: the kernel drives `{signal}`, which is driven from elsewhere")]
    DrivesInput {
        /// Where.
        module: String,
        /// Which.
        signal: String,
    },
    /// A clock comes out of logic, so there would be more than one clock net.
    #[error("{module}: clock `{signal}` must be assigned once, from another clock")]
    ClockLogic {
        /// Where.
        module: String,
        /// Which.
        signal: String,
    },
    /// A name in the kernel that is no signal of the module.
    #[error("{module}: no signal `{signal}`")]
    UnknownSignal {
        /// Where.
        module: String,
        /// Which.
        signal: String,
    },
    /// A type without bits, such as an enum with one variant.
    #[error("{module}: `{signal}` has no bits")]
    ZeroWidth {
        /// Where.
        module: String,
        /// Which.
        signal: String,
    },
    /// Operands of different widths met.
    #[error("{module}: {left} bits meet {right} bits in {expression}")]
    WidthMismatch {
        /// Where.
        module: String,
        /// Width in bits of one side.
        left: usize,
        /// Width in bits of the other side.
        right: usize,
        /// The expression.
        expression: String,
    },
    /// A literal that its context can't hold.
    #[error("{module}: the literal {value} does not fit in {width} bits")]
    LiteralTooWide {
        /// Where.
        module: String,
        /// The literal.
        value: String,
        /// Bits that it would have to fit in.
        width: usize,
    },
    /// Two ports with the same Verilog name.
    #[error("{module}: two ports are called `{name}` in Verilog")]
    PortNameConflict {
        /// Where.
        module: String,
        /// The name.
        name: String,
    },
    /// A module with outputs but neither kernel nor Verilog.
    #[error("{module}: has outputs but no Verilog")]
    NoVerilog {
        /// Where.
        module: String,
    },
    /// Two black boxes of the same name with different declarations.
    #[error("the black box `{name}` is declared in two ways")]
    BlackBoxConflict {
        /// The name.
        name: String,
    },
    /// Something that has no translation.
    #[error("{module}: {what}")]
    Unsupported {
        /// Where.
        module: String,
        /// What.
        what: String,
    },
    /// The Rust code that builds the kernel panicked.
    #[error("building the kernels panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
}
