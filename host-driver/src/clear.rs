//! Taking off a card what an earlier driver left on it.

use crate::device::Capabilities;
use crate::error::Error;
use crate::mailbox::Mailbox;
use ferroce_abi::cfg::{
    AhCfg, AsyncCfg, CompleterCfg, CqCfg, EqCfg, FieldOverflow, MrCfg, ResponderCfg, RingCfg,
    SenderCfg, SrqLimitCfg, ENTRY_WORDS,
};
use ferroce_abi::limits::FIRST_QPN;
use ferroce_abi::mailbox::{Command, CommandStatus, Request};

/// Moves all QPs to RESET, then disables all SRQs, regions, address handles, CQs and EQs that there are.
pub(crate) fn clear(mailbox: &Mailbox, caps: &Capabilities) -> Result<(), Error> {
    let run = |command, object, entries: &[[u64; ENTRY_WORDS]]| {
        let ran = mailbox.run(&Request {
            command,
            object,
            entries: entries.to_vec(),
        });
        match ran {
            // What was not left there need not be taken away.
            Err(Error::CommandRefused {
                status: CommandStatus::NoObject,
                ..
            }) => Ok(()),
            other => other,
        }
    };
    let stopped = stopped_qp()?;
    for qpn in FIRST_QPN..caps.qps {
        run(Command::QpToReset, qpn, &stopped)?;
    }
    let shared = [
        SrqLimitCfg::default().to_bits()?,
        RingCfg::default().to_bits()?,
    ];
    for srqn in 0..caps.srqs {
        run(Command::DestroySrq, srqn, &shared)?;
    }
    let region = [MrCfg::default().to_bits()?];
    for index in 1..caps.mrs {
        run(Command::DeregMr, index, &region)?;
    }
    let handle = [AhCfg::default().to_bits()?];
    for number in 0..caps.ahs {
        run(Command::DestroyAh, number, &handle)?;
    }
    let queue = [CqCfg::default().to_bits()?];
    for cqn in 0..caps.cqs {
        run(Command::DestroyCq, cqn, &queue)?;
    }
    if caps.eqs > 0 {
        run(Command::SetAsyncEq, 0, &[AsyncCfg::default().to_bits()?])?;
    }
    let events = [EqCfg::default().to_bits()?];
    for eqn in 0..caps.eqs {
        run(Command::DestroyEq, eqn, &events)?;
    }
    tracing::info!(
        caps.qps,
        caps.srqs,
        caps.mrs,
        caps.cqs,
        caps.eqs,
        caps.ahs,
        "cleared what was left on the card"
    );
    Ok(())
}

/// Entries of a QP that does nothing, for [`Command::QpToReset`].
fn stopped_qp() -> Result<[[u64; ENTRY_WORDS]; 5], FieldOverflow> {
    let responder = ResponderCfg {
        restart: true,
        restart_rq: true,
        ..ResponderCfg::default()
    };
    Ok([
        SenderCfg::default().to_bits()?,
        responder.to_bits()?,
        CompleterCfg::default().to_bits()?,
        RingCfg::default().to_bits()?,
        RingCfg::default().to_bits()?,
    ])
}
