//! Puts the beats of DMA answers into their places.

use crate::fetch_issue::FetchBase;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::dma::DmaReadBeat;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};
use ferroce_rtl::stream::StreamIn;

/// A beat for the reorder buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchStore {
    /// Write in this cycle.
    pub valid: Bit,
    /// Place; the buffer uses the low bits.
    pub place: Bits<16>,
    /// The bytes.
    pub data: Bits<512>,
}

/// A read is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchEnd {
    /// In this cycle, together with the store of the read's last beat.
    pub valid: Bit,
    /// Its tag, counted from the first one.
    pub tag: Bits<8>,
    /// Changes with every use of the tag; 1 in the first.
    pub lap: Bit,
    /// The read failed.
    pub err: Bit,
}

/// How far the answer to a tag has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TagProgress {
    /// Beats that have arrived.
    pub beats: Bits<7>,
    /// Lap of the answer before.
    pub lap: Bit,
}

/// Takes a beat every cycle, of any tag in any order: its place was reserved before it was asked for.
#[derive(LogicBlock, Module)]
pub struct FetchCollect {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Answers; those to tags of other readers are ignored.
    pub dma_data: StreamIn<DmaReadBeat>,
    /// Where each tag's beats go.
    pub base: Signal<In, FetchBase>,
    /// The beat's place.
    pub store: Signal<Out, FetchStore>,
    /// Complete reads.
    pub end: Signal<Out, FetchEnd>,
    tag_base: Constant<Bits<8>>,
    tag_mask: Constant<Bits<8>>,
    beat: DFF<DmaReadBeat>,
    beat_valid: DFF<Bit>,
    tag1: DFF<Bits<8>>,
    beats: Delay<DmaReadBeat>,
    bases: Ram<Bits<16>>,
    progress: RmwRam<TagProgress>,
    store_reg: DFF<FetchStore>,
    end_reg: DFF<FetchEnd>,
    arrived: Signal<Local, DmaReadBeat>,
}

impl FetchCollect {
    /// For the DMA tags `tag_base` to `tag_base + 2^log2_tags - 1`.
    #[must_use]
    pub fn new(tag_base: u8, log2_tags: usize) -> Self {
        Self {
            clock: Signal::default(),
            dma_data: StreamIn::default(),
            base: Signal::default(),
            store: Signal::default(),
            end: Signal::default(),
            tag_base: Constant::new(u64::from(tag_base).into()),
            tag_mask: Constant::new(((1u64 << log2_tags) - 1).into()),
            beat: DFF::default(),
            beat_valid: DFF::default(),
            tag1: DFF::default(),
            beats: Delay::new(RMW_LATENCY),
            bases: Ram::new(log2_tags),
            progress: RmwRam::new(log2_tags),
            store_reg: DFF::default(),
            end_reg: DFF::default(),
            arrived: Signal::default(),
        }
    }
}

/// 64 tags from 0.
impl Default for FetchCollect {
    fn default() -> Self {
        Self::new(0, 6)
    }
}

/// The base is read so much later than the progress that both arrive together.
const BASE_WAIT: usize = RMW_LATENCY - RAM_LATENCY;
const _: () = assert!(BASE_WAIT == 1, "`tag1` is the wait");

impl Logic for FetchCollect {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, beat, beat_valid, tag1, store_reg, end_reg);
        clock!(self, clock, beats, bases, progress);

        self.dma_data.ready.next = true;
        self.beat.d.next = self.dma_data.data.val();
        self.beat.d.next.tag = self.dma_data.data.val().tag & self.tag_mask.val();
        self.beat_valid.d.next = self.dma_data.valid.val()
            & ((self.dma_data.data.val().tag & !self.tag_mask.val()) == self.tag_base.val());

        self.bases.wr_valid.next = self.base.val().valid;
        self.bases.wr_addr.next = bit_cast::<20, 8>(self.base.val().tag);
        self.bases.wr_data.next = self.base.val().base;

        self.progress.rd_valid.next = self.beat_valid.q.val();
        self.progress.rd_addr.next = bit_cast::<20, 8>(self.beat.q.val().tag);
        self.tag1.d.next = self.beat.q.val().tag;
        self.bases.rd_addr.next = bit_cast::<20, 8>(self.tag1.q.val());
        self.beats.data_in.next = self.beat.q.val();

        // The tag's progress is written in the cycle in which it is read.
        self.arrived.next = self.beats.data_out.val();
        self.progress.wr_valid.next = self.progress.data_valid.val();
        self.progress.wr_addr.next = bit_cast::<20, 8>(self.arrived.val().tag);
        self.progress.wr_data.next.beats = self.progress.rd_data.val().beats + 1;
        self.progress.wr_data.next.lap = self.progress.rd_data.val().lap;
        if self.arrived.val().last {
            self.progress.wr_data.next.beats = 0.into();
            self.progress.wr_data.next.lap = !self.progress.rd_data.val().lap;
        }

        self.store_reg.d.next.valid = self.progress.data_valid.val();
        self.store_reg.d.next.place =
            self.bases.rd_data.val() + bit_cast::<16, 7>(self.progress.rd_data.val().beats);
        self.store_reg.d.next.data = self.arrived.val().data;
        self.store.next = self.store_reg.q.val();
        self.end_reg.d.next.valid = self.progress.data_valid.val() & self.arrived.val().last;
        self.end_reg.d.next.tag = self.arrived.val().tag;
        self.end_reg.d.next.lap = !self.progress.rd_data.val().lap;
        self.end_reg.d.next.err = self.arrived.val().err;
        self.end.next = self.end_reg.q.val();
    }
}

ferroce_emit::register_leaf!("fetch_collect", || FetchCollect::new(64, 4));
