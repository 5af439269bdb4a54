//! WQEs that the host pushes along with their doorbell.

use super::desc::{LineWrite, PushWrite};
use ferroce_abi::limits::WQE_BLOCKS;
use ferroce_emit::prelude::*;

/// Pushes that wait for the WQE cache, log2: more than the host can write while the cache takes one.
pub const PUSHES_LOG2: usize = 3;
const PUSHES: u64 = 1 << PUSHES_LOG2;
/// Words of the push window.
const WORDS: u64 = (WQE_BLOCKS * 8) as u64;
/// `next` of a push that can't become complete any more.
const BROKEN: u64 = WORDS + 1;

/// Puts the words of a push together and decides at the SQ doorbell behind them whether they count.
///
/// There is one push at a time on the card. It begins with word 0 of a page's push window and grows by words of that page
/// in ascending order, each written whole. Anything else, be it a word left out, torn, repeated or of another page, breaks it or begins another
/// one. An SQ doorbell in the page ends it: if it was rung for a queue of that page and announces exactly the blocks that are there, they go
/// along with the doorbell; if not, the doorbell is one like any other, and the card reads the WQE from the ring. So words only ever count
/// for the page that wrote them, and losing them costs nothing but time.
#[derive(LogicBlock, Module, Default)]
pub struct PushBuffer {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Words.
    pub write: Signal<In, PushWrite>,
    /// An SQ doorbell was rung.
    pub bell: Signal<In, Bit>,
    /// Its page.
    pub page: Signal<In, Bits<7>>,
    /// Blocks that it announces.
    pub announced: Signal<In, Bits<3>>,
    /// It is good.
    pub good: Signal<In, Bit>,
    /// Blocks that go along with it, in the same cycle.
    pub blocks: Signal<Out, Bits<3>>,
    /// Where they are.
    pub place: Signal<Out, Bits<3>>,
    /// Lines for that place.
    pub line: Signal<Out, LineWrite>,
    /// The oldest place is free again.
    pub freed: Signal<In, Bit>,
    owner: DFF<Bits<7>>,
    /// The word that must come next.
    next: DFF<Bits<6>>,
    place_now: DFF<Bits<3>>,
    used: DFF<Bits<4>>,
    has_room: DFF<Bit>,
    words: DFF<Bits<512>>,
    line_valid: DFF<Bit>,
    line_number: DFF<Bits<2>>,
    fits: Signal<Local, Bit>,
    begins: Signal<Local, Bit>,
    mine: Signal<Local, Bit>,
}

impl Logic for PushBuffer {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            owner,
            next,
            place_now,
            used,
            has_room,
            words,
            line_valid,
            line_number
        );
        // Words. One never comes in the cycle of a doorbell: both are accesses.
        self.begins.next = self.write.val().word == 0;
        self.mine.next = self.write.val().page == self.owner.q.val();
        self.line_valid.d.next = false;
        self.line_number.d.next = self.write.val().word.get_bits::<2>(3);
        if self.write.val().valid {
            self.words.d.next =
                (self.words.q.val() >> 64) | (bit_cast::<512, 64>(self.write.val().data) << 448);
            if self.begins.val() {
                self.owner.d.next = self.write.val().page;
                self.next.d.next = BROKEN.into();
                if self.has_room.q.val() & self.write.val().whole {
                    self.next.d.next = 1.into();
                }
            } else if self.mine.val() {
                self.next.d.next = BROKEN.into();
                if self.write.val().whole
                    & (bit_cast::<6, 5>(self.write.val().word) == self.next.q.val())
                {
                    self.next.d.next = self.next.q.val() + 1;
                    self.line_valid.d.next = self.write.val().word.get_bits::<3>(0).all();
                }
            } else {
                // Another page's words, in the middle of its push: the shift register is no more this page's.
                self.next.d.next = BROKEN.into();
            }
        }
        self.line.next.valid = self.line_valid.q.val();
        self.line.next.place = (bit_cast::<5, 3>(self.place_now.q.val()) << 2)
            | bit_cast::<5, 2>(self.line_number.q.val());
        self.line.next.data = self.words.q.val();

        // Doorbells.
        self.fits.next = self.good.val()
            & (self.page.val() == self.owner.q.val())
            & self.announced.val().any()
            & (self.next.q.val() == (bit_cast::<6, 3>(self.announced.val()) << 3));
        self.blocks.next = 0.into();
        if self.fits.val() {
            self.blocks.next = self.announced.val();
        }
        self.place.next = self.place_now.q.val();
        if self.bell.val() & (self.page.val() == self.owner.q.val()) {
            self.next.d.next = BROKEN.into();
        }
        if self.fits.val() {
            self.place_now.d.next = self.place_now.q.val() + 1;
        }
        if self.fits.val() & !self.freed.val() {
            self.used.d.next = self.used.q.val() + 1;
        } else if !self.fits.val() & self.freed.val() {
            self.used.d.next = self.used.q.val() - 1;
        }
        // A doorbell may just have taken a place that is not counted yet: one is kept for the push that begins right behind it.
        self.has_room.d.next = self.used.q.val() < (PUSHES - 1);
    }
}

ferroce_emit::register_leaf!("push_buffer", PushBuffer::default);
