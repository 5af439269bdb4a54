//! What stands around the receive side: RQ WQE cache, MR check and host memory.

use super::{Cqe, Region, World};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::desc::lookup::{MrAnswer, MrCheck, WqeData, WqeRead};

impl World {
    pub(super) fn answer_wqe(&self, read: &WqeRead) -> WqeData {
        let (qp, wqe) = (read.qp.to_u64() as usize, read.wqe.to_u64() as usize);
        let Some(buffer) = self.buffers.get(qp).and_then(|buffers| {
            // RQ indices have 16 bits.
            let index = buffers.len().checked_sub(1)? & !0xFFFF | wqe;
            buffers[..self.fetched[qp]].get(index)
        }) else {
            return WqeData::default();
        };
        WqeData {
            avail: true,
            // The tag of an SRQ's WQE.
            imm: (wqe as u64 & 0x7FFF).into(),
            sges: u64::from(buffer.sges).into(),
            addr: buffer.addr.into(),
            lkey: u64::from(buffer.lkey).into(),
            sge_len: u64::from(buffer.len).into(),
            ..WqeData::default()
        }
    }

    pub(super) fn answer_mr(&self, check: &MrCheck) -> MrAnswer {
        let (va, len) = (check.va.to_u64(), check.len.to_u64());
        let access = check.access.to_u64() as u8;
        let inside = |region: &&Region| {
            u64::from(region.key) == check.key.to_u64()
                && u64::from(region.pd) == check.pd.to_u64()
                && region.access & access == access
                && va >= region.base
                && u128::from(va) + u128::from(len)
                    <= u128::from(region.base) + u128::from(region.len)
        };
        MrAnswer {
            ok: len == 0 || self.regions.iter().any(|region| inside(&region)),
            ..MrAnswer::default()
        }
    }

    pub(super) fn take_write(&mut self, beat: &DmaWriteBeat) {
        let (addr, len) = (beat.addr.to_u64(), beat.len.to_u64() as usize);
        let (start, total, mut done) = self.write.take().unwrap_or((addr, len, 0));
        assert_eq!((start, total), (addr, len), "address and length hold");
        assert!((1..=4096).contains(&total), "a write of {total} bytes");
        assert!(
            (start & 4095) as usize + total <= 4096,
            "write {start:#x}+{total} crosses a page"
        );
        let words = pack(&beat.data);
        let lane = (start as usize + done) % 64;
        let count = (64 - lane).min(total - done);
        for k in lane..lane + count {
            let byte = (words[k / 4] >> (8 * (k % 4))) as u8;
            self.memory.insert(start.wrapping_add(done as u64), byte);
            done += 1;
        }
        assert_eq!(
            beat.last,
            done == total,
            "last beat of {total} bytes at {done}"
        );
        if done < total {
            self.write = Some((start, total, done));
        }
        self.last_write = self.sim.cycle;
    }

    pub(super) fn take_rx_cqe(&mut self, cqe: Cqe) {
        if let Some((addr, bytes)) = self.promised.remove(&(cqe.qp, cqe.wqe)) {
            assert_eq!(self.memory_at(addr, bytes.len()), bytes, "data of {cqe:?}");
        }
        self.rx_cqes.push(cqe);
    }

    /// Bytes of host memory; never written ones are 0.
    pub fn memory_at(&self, addr: u64, len: usize) -> Vec<u8> {
        (0..len as u64)
            .map(|k| self.memory.get(&addr.wrapping_add(k)).copied().unwrap_or(0))
            .collect()
    }

    /// Bytes of host memory that were ever written.
    pub fn bytes_written(&self) -> usize {
        self.memory.len()
    }
}
