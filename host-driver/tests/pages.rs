//! Doorbell pages: queues ring where the card was told that they do.

mod card;

use card::{connect, cqe, TestCard};
use ferroce_abi::cfg::{RingCfg, Table};
use ferroce_abi::regs::{self, DOORBELLS};
use ferroce_driver::{Access, DoorbellPage, Error, InitAttr, RecvWr, SendWr, WcOpcode};

#[test]
fn queues_ring_in_their_page() {
    let card = TestCard::new();
    let device = card.open();
    let pages: Vec<DoorbellPage> = (0..3).map(|_| device.create_page().unwrap()).collect();
    let [cq_page, qp_page] = [&pages[1], &pages[2]];
    let cq = device.create_cq_in(cq_page, 8).unwrap();
    let pd = device.create_pd().unwrap();
    let mr = pd.allocate(64, Access::LOCAL_WRITE).unwrap();
    let own = pd.qp(&cq).page(qp_page).build().unwrap();
    let plain = pd.qp(&cq).build().unwrap();
    card.take_ran();
    for (qp, page) in [(&own, qp_page.number()), (&plain, 0)] {
        connect(qp);
        let ran = card.take_ran();
        for table in [Table::Sq, Table::Rq] {
            assert_eq!(RingCfg::from_bits(ran[0].entry(table)).page, page);
        }
        card.state().pages_rung.clear();
        qp.post_send(SendWr::send(1, mr.sge(0..8).unwrap()).unsignaled())
            .unwrap();
        qp.post_recv(RecvWr::new(2, mr.sge(0..8).unwrap())).unwrap();
        assert_eq!(card.state().pages_rung, [page, page]);
    }
    card.state().pages_rung.clear();
    card.write_cqe(0, cqe(WcOpcode::Recv, own.qpn(), 0));
    assert_eq!(cq.poll(1).unwrap().len(), 1);
    assert_eq!(card.state().pages_rung, [cq_page.number()]);
}

#[test]
fn a_page_is_4_kib_of_the_bar() {
    let card = TestCard::new();
    let page = card.open().create_page().unwrap();
    let start = DOORBELLS + 4096 * u64::from(page.number());
    assert_eq!(page.bytes(), start..start + 4096);
}

#[test]
fn pages_run_out_and_come_back_with_their_last_queue() {
    let card = TestCard::new();
    let device = card.open();
    let mut pages: Vec<DoorbellPage> = (1..regs::DOORBELL_PAGES)
        .map(|_| device.create_page().unwrap())
        .collect();
    let exhausted = |device: &ferroce_driver::Device| {
        matches!(
            device.create_page(),
            Err(Error::Exhausted { limit: 127, .. })
        )
    };
    assert!(exhausted(&device));
    let page = pages.pop().unwrap();
    let cq = device.create_cq_in(&page, 8).unwrap();
    let number = page.number();
    drop(page);
    assert!(exhausted(&device), "the CQ still rings there");
    drop(cq);
    assert_eq!(device.create_page().unwrap().number(), number);
}

#[test]
fn pages_of_another_card_are_refused() {
    let (one, other) = (TestCard::new().open(), TestCard::new().open());
    let page = other.create_page().unwrap();
    let refused = |error| matches!(error, Error::OtherDevice { .. });
    assert!(refused(one.create_cq_in(&page, 8).unwrap_err()));
    let cq = one.create_cq(8).unwrap();
    let pd = one.create_pd().unwrap();
    assert!(refused(pd.qp(&cq).page(&page).build().unwrap_err()));
    let qp = pd.qp(&cq).build().unwrap();
    qp.to_init(InitAttr::default()).unwrap();
}
