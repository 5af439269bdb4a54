//! Answers to queries.

entry! {
    /// Answer to [`crate::mailbox::Command::QueryQp`], not a table's entry. All of it is of one moment to a few core cycles.
    QpInfo {
        /// State: a [`crate::mailbox::QpState`]. A QP that failed by itself keeps it until it is moved.
        state: u8 = 3,
        /// It completes receives into a CQ.
        has_recv: bool = 1,
        /// That CQ.
        recv_cq: u16 = 14,
        /// It completes sends into a CQ.
        has_send: bool = 1,
        /// That CQ.
        send_cq: u16 = 14,
        /// PSN after the highest one sent.
        sq_psn: u32 = 24,
        /// Oldest unacknowledged PSN.
        una_psn: u32 = 24,
        /// SQ producer index.
        sq_posted: u16 = 16,
        /// SQ index after the newest WQE of which something was sent.
        sq_begun: u16 = 16,
        /// SQ index of the oldest WQE that is not retired.
        sq_oldest: u16 = 16,
        /// RQ producer index.
        rq_posted: u16 = 16,
        /// RQ index of the WQE that the next message takes.
        rq_next: u16 = 16,
        /// It takes receive WQEs from an SRQ.
        has_srq: bool = 1,
        /// That SRQ.
        srq: u16 = 10,
    }
}

entry! {
    /// Answer to [`crate::mailbox::Command::QuerySrq`], not a table's entry.
    SrqInfo {
        /// Its limit; 0 when none is armed.
        limit: u16 = 16,
        /// Producer index.
        posted: u16 = 16,
        /// Index of the WQE that the next message takes.
        next: u16 = 16,
    }
}

entry! {
    /// Answer to [`crate::mailbox::Command::QueryCq`] and [`crate::mailbox::Command::QueryEq`], not a table's entry.
    QueueInfo {
        /// It was full and has lost entries; of an EQ, none of its entries has told so yet.
        lost: bool = 1,
        /// It is armed.
        armed: bool = 1,
        /// Running index of the next entry.
        producer: u32 = 24,
        /// Running index after the last entry that the host has taken out.
        consumer: u32 = 24,
        /// A CQ that has an EQ.
        has_eq: bool = 1,
        /// That EQ.
        eq: u8 = 7,
    }
}
