//! The card reads from a software peer: requests byte by byte, and data of every kind.

use anyhow::{ensure, Context, Result};
use ferroce_abi::opcode::rc;
use ferroce_driver::{Counter, Pmtu, Status};
use ferroce_tests::asked::{ask, bench, bench_with, come, done, good, placed, Asked, PSN};
use ferroce_tests::bench::{Counts, ACK};
use ferroce_tests::peer::PeerConfig;
use ferroce_tests::requester::response;

/// Once the data is asked for again.
fn again(mut counts: Counts) -> Counts {
    counts.extend([(Counter::Retransmits, 1), (Counter::SequenceNaks, 1)]);
    counts
}

#[test]
fn every_length_lands() -> Result<()> {
    for (pmtu, lens) in [
        (
            Pmtu::B256,
            &[
                0, 1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097,
            ][..],
        ),
        (Pmtu::B512, &[1, 511, 512, 513, 2000]),
        (Pmtu::B1024, &[0, 1, 1023, 1024, 1025, 4098, 65_537]),
        (Pmtu::B2048, &[2047, 2048, 2049, 9001]),
        (Pmtu::B4096, &[0, 3, 4095, 4096, 4097, 65_535, 65_537]),
    ] {
        let mut bench = bench_with(PeerConfig {
            pmtu,
            ..PeerConfig::default()
        })?;
        let mut psn = PSN;
        for &len in lens {
            let asked = Asked::read(&mut bench, len as u64, len, psn)?;
            ask(&mut bench, std::slice::from_ref(&asked), 1)?;
            asked.landed(&mut bench);
            let (data, counts) = (asked.rest(&bench, 0)?, good(&bench, &asked));
            come(&mut bench, &data, &[], &counts)
                .and_then(|()| done(&bench, &[asked.completion(&bench, Status::Success)]))
                .with_context(|| format!("{len} bytes, path MTU {pmtu:?}"))?;
            psn = asked.at(asked.psns(&bench));
        }
    }
    Ok(())
}

/// Whatever packet of the data is lost, what is missing is asked for at once if more data shows it.
#[test]
fn a_gap_in_the_data_is_asked_for_again() -> Result<()> {
    let mut bench = bench()?;
    let mut psn = PSN;
    for (wr_id, lost) in [(1, 0), (2, 1), (3, 3)] {
        let asked = Asked::read(&mut bench, wr_id, 5 * 256 - 3, psn)?;
        ask(&mut bench, std::slice::from_ref(&asked), 1)?;
        let mut data = asked.rest(&bench, 0)?;
        data.remove(lost as usize);
        let late = 4 - lost;
        let mut counts = again(placed(lost.into(), u64::from(lost) * 256));
        counts.push((Counter::RxOutOfSequence, late.into()));
        let missing = asked.packet(&bench, lost)?;
        come(&mut bench, &data, &[missing], &counts)
            .with_context(|| format!("packet {lost} is lost"))?;
        ensure!(bench.open.cq.poll(1)?.is_empty());
        // The peer may answer with FIRST again, or go on with the opcodes of the first time.
        let rest = if wr_id == 2 {
            (lost..5)
                .map(|n| asked.data(&bench, n))
                .collect::<Result<_>>()?
        } else {
            asked.rest(&bench, lost)?
        };
        asked.landed(&mut bench);
        let mut counts = placed((5 - lost).into(), (5 * 256 - 3) - u64::from(lost) * 256);
        counts.push((Counter::CqeWritten, 1));
        come(&mut bench, &rest, &[], &counts)?;
        done(&bench, &[asked.completion(&bench, Status::Success)])?;
        psn = asked.at(5);
    }
    Ok(())
}

#[test]
fn data_that_came_before_changes_nothing() -> Result<()> {
    let mut bench = bench()?;
    let asked = Asked::read(&mut bench, 1, 3 * 256, PSN)?;
    ask(&mut bench, std::slice::from_ref(&asked), 1)?;
    let data = asked.rest(&bench, 0)?;
    // The first twice, the second and the first again, the third twice.
    let order = [0, 0, 1, 0, 1, 2, 2];
    let came: Vec<_> = order.iter().map(|&n| data[n].clone()).collect();
    asked.landed(&mut bench);
    let mut counts = good(&bench, &asked);
    // When nothing is asked for, even what was asked for is unasked.
    counts.extend([(Counter::RxDuplicate, 3), (Counter::RxDropOpcode, 1)]);
    come(&mut bench, &came, &[], &counts)?;
    done(&bench, &[asked.completion(&bench, Status::Success)])
}

/// An ACK of something behind a READ tells that its answer is lost; it completes what is before the READ only.
#[test]
fn an_ack_does_not_complete_a_read() -> Result<()> {
    let mut bench = bench()?;
    let first = Asked::read(&mut bench, 1, 600, PSN)?;
    let second = Asked::read(&mut bench, 2, 1, first.at(3))?;
    ask(&mut bench, &[first.clone(), second.clone()], 2)?;
    let both = [first.packet(&bench, 0)?, second.packet(&bench, 0)?];
    let ack = response(&bench, second.psn, ACK)?;
    come(
        &mut bench,
        std::slice::from_ref(&ack),
        &both,
        &again(vec![]),
    )?;
    // The same loss is told only once.
    come(&mut bench, &[ack.clone(), ack], &[], &[])?;
    first.landed(&mut bench);
    let (data, counts) = (first.rest(&bench, 0)?, good(&bench, &first));
    come(&mut bench, &data, &[], &counts)?;
    done(&bench, &[first.completion(&bench, Status::Success)])?;
    second.landed(&mut bench);
    let (data, counts) = (second.rest(&bench, 0)?, good(&bench, &second));
    come(&mut bench, &data, &[], &counts)?;
    done(&bench, &[second.completion(&bench, Status::Success)])
}

#[test]
fn a_nak_ends_a_read() -> Result<()> {
    for (syndrome, status) in [
        (0x61, Status::RemInvReq),
        (0x62, Status::RemAccess),
        (0x63, Status::RemOp),
    ] {
        for before in [0, 2] {
            let mut bench = bench()?;
            let asked = Asked::read(&mut bench, 1, 4 * 256, PSN)?;
            ask(&mut bench, std::slice::from_ref(&asked), 1)?;
            let mut came: Vec<_> = (0..before)
                .map(|n| asked.data(&bench, n))
                .collect::<Result<_>>()?;
            came.push(response(&bench, asked.at(before), syndrome)?);
            let bytes = before as usize * 256;
            let start = asked.place.start;
            bench.image.expect(start, &asked.bytes[..bytes]);
            let mut counts = placed(before.into(), bytes as u64);
            counts.extend([
                (Counter::CqeWritten, 1),
                (Counter::RxAcks, 1),
                (Counter::RequesterErrors, 1),
            ]);
            come(&mut bench, &came, &[], &counts)?;
            done(&bench, &[asked.completion(&bench, status)])?;
        }
    }
    Ok(())
}

/// Data that is not what was asked for fails the READ, and nothing of it is written.
#[test]
fn wrong_data_fails_the_read() -> Result<()> {
    let full = [7; 256];
    for (name, opcode, payload, status) in [
        (
            "short FIRST",
            rc::READ_RESPONSE_FIRST,
            &full[..252],
            Status::LocLen,
        ),
        (
            "ONLY of more",
            rc::READ_RESPONSE_ONLY,
            &full[..],
            Status::LocLen,
        ),
        (
            "MIDDLE at the start",
            rc::READ_RESPONSE_MIDDLE,
            &full[..],
            Status::BadResp,
        ),
        (
            "LAST at the start",
            rc::READ_RESPONSE_LAST,
            &full[..],
            Status::BadResp,
        ),
        ("atomic", rc::ATOMIC_ACKNOWLEDGE, &[], Status::BadResp),
    ] {
        let mut bench = bench()?;
        let asked = Asked::read(&mut bench, 1, 3 * 256, PSN)?;
        ask(&mut bench, std::slice::from_ref(&asked), 1)?;
        let odd = asked.odd(&bench, 0, opcode, payload)?;
        let counts = [(Counter::CqeWritten, 1), (Counter::RequesterErrors, 1)];
        come(&mut bench, &[odd], &[], &counts)
            .and_then(|()| done(&bench, &[asked.completion(&bench, status)]))
            .context(name)?;
    }
    for (name, opcode, len) in [
        ("LAST too short", rc::READ_RESPONSE_LAST, 10),
        ("LAST too long", rc::READ_RESPONSE_LAST, 12),
        ("empty LAST", rc::READ_RESPONSE_LAST, 0),
        ("MIDDLE at the end", rc::READ_RESPONSE_MIDDLE, 256),
    ] {
        let mut bench = bench()?;
        let asked = Asked::read(&mut bench, 1, 256 + 11, PSN)?;
        ask(&mut bench, std::slice::from_ref(&asked), 1)?;
        let came = [
            asked.data(&bench, 0)?,
            asked.odd(&bench, 1, opcode, &full[..len])?,
        ];
        let start = asked.place.start;
        bench.image.expect(start, &asked.bytes[..256]);
        let mut counts = placed(1, 256);
        counts.extend([(Counter::CqeWritten, 1), (Counter::RequesterErrors, 1)]);
        come(&mut bench, &came, &[], &counts)
            .and_then(|()| done(&bench, &[asked.completion(&bench, Status::LocLen)]))
            .context(name)?;
    }
    Ok(())
}

#[test]
fn data_that_nobody_asked_for_is_dropped() -> Result<()> {
    let mut bench = bench()?;
    let asked = Asked::read(&mut bench, 1, 2 * 256, PSN)?;
    let unasked: Vec<_> = asked.rest(&bench, 0)?;
    come(&mut bench, &unasked, &[], &[(Counter::RxDropOpcode, 2)])?;
    ask(&mut bench, std::slice::from_ref(&asked), 1)?;
    // Behind all that was asked for, and far before it.
    for (ahead, counter) in [
        (2, Counter::RxDropOpcode),
        (1 << 22, Counter::RxDropOpcode),
        (0xff_fffe, Counter::RxDuplicate),
        (1 << 23, Counter::RxDuplicate),
    ] {
        let stale = Asked {
            psn: asked.at(ahead),
            ..asked.clone()
        };
        let packet = stale.data(&bench, 0)?;
        come(&mut bench, &[packet], &[], &[(counter, 1)])?;
    }
    asked.landed(&mut bench);
    let (data, counts) = (asked.rest(&bench, 0)?, good(&bench, &asked));
    come(&mut bench, &data, &[], &counts)?;
    done(&bench, &[asked.completion(&bench, Status::Success)])
}
