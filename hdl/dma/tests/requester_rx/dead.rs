//! A host that stops answering.

use crate::bench::{Bench, BenchConfig, LOG2_TIMEOUT};
use crate::client::CLASSES;
use crate::fates::Fate;
use crate::host::HostConfig;
use ferroce_dma::reader::read_budget::COMPLETION_HEADERS;
use ferroce_emit::harness::random;

/// Reads of 64 bytes, one slot each, at once.
const CONFIG: BenchConfig = BenchConfig {
    max_read_req: 2,
    headers: COMPLETION_HEADERS,
    host: HostConfig {
        straddle: true,
        boundary: 64,
        split: 0.0,
        latency: 20,
        disorder: 4,
        errors: 0.0,
        late: 0.0,
        late_cycles: 10 << LOG2_TIMEOUT,
        strays: 0.0,
    },
    request_rate: 1.0,
    reads_rate: 1.0,
    rc_rate: 1.0,
    data_rate: 1.0,
};

/// `count` reads of 64 bytes by a class.
fn burst(bench: &mut Bench, class: usize, count: usize, fate: Fate) {
    burst_of(bench, class, count, 64, fate);
}

/// `count` reads of one piece of `len` bytes by a class.
fn burst_of(bench: &mut Bench, class: usize, count: usize, len: u64, fate: Fate) {
    let (mut asked, mut read) = (0, 0);
    while asked < count || read < count {
        bench.cycle(
            &mut |clients, _| {
                let more = asked < count;
                asked += usize::from(more);
                more.then(|| {
                    clients.request(class, len.next_power_of_two() * asked as u64, len, false)
                })
                .flatten()
            },
            &mut |_| {
                read += 1;
                fate
            },
        );
    }
}

#[test]
fn lost_reads_fail_after_the_time_out_and_the_others_go_on() {
    let mut bench = Bench::new(CONFIG, random());
    let rounds = 5;
    for round in 1..=rounds {
        burst(&mut bench, 0, 1, Fate::Lost);
        burst(&mut bench, 1, 1, Fate::Lost);
        let start = bench.now();
        // A hundred reads of the payload class come behind the lost one, those of the RQ don't wait.
        burst(&mut bench, 0, 100, Fate::Good);
        burst(&mut bench, 2, 60, Fate::Good);
        bench.drain(2 << LOG2_TIMEOUT);
        let took = bench.now() - start;
        assert!(took > (1 << LOG2_TIMEOUT) * 14 / 16, "{took} cycles");
        assert!(took < (1 << LOG2_TIMEOUT) + 1000, "{took} cycles");
        assert_eq!(bench.clients.failed, 2 * round);
        assert_eq!(bench.host.outstanding(), 2 * round, "tags that are dead");
    }
    bench.check_counts();
}

#[test]
fn without_a_tag_alive_reads_fail_at_once_until_one_is_answered() {
    let mut bench = Bench::new(CONFIG, random());
    for (class, (_, slots)) in CLASSES.into_iter().enumerate() {
        burst(&mut bench, class, slots as usize, Fate::Late);
    }
    let start = bench.now();
    while !bench.clients.idle() {
        bench.cycle(&mut |_, _| None, &mut |_| Fate::Good);
        assert!(
            bench.now() - start < 2 << LOG2_TIMEOUT,
            "all reads time out together"
        );
    }
    assert_eq!(bench.clients.failed, 256);
    assert_eq!(bench.counts.timeouts, 256);

    // Requests of many pieces, so that the ring goes round.
    let start = bench.now();
    let mut asked = 0;
    while asked < 30 {
        bench.cycle(
            &mut |clients, _| {
                asked += 1;
                clients.request(asked % 3, 4096 * asked as u64 + 3, 4093, false)
            },
            &mut |_| panic!("there is no tag for a read"),
        );
    }
    for _ in 0..10 {
        bench.cycle(&mut |_, _| None, &mut |_| panic!("there is no tag"));
    }
    bench.clients.fail_all();
    while !bench.clients.idle() {
        bench.cycle(&mut |_, _| None, &mut |_| panic!("there is no tag"));
        assert!(bench.now() - start < 5_000, "reads fail without a time-out");
    }
    assert_eq!(bench.clients.failed, 286);

    // The late answers bring the tags back.
    while !bench.host.idle() {
        bench.cycle(&mut |_, _| None, &mut |_| Fate::Good);
    }
    bench.drain(100);
    assert_eq!(bench.host.outstanding(), 0);
    for (class, (_, slots)) in CLASSES.into_iter().enumerate() {
        burst(&mut bench, class, slots as usize, Fate::Good);
        bench.drain(2_000);
    }
    assert_eq!(bench.clients.failed, 286);
    assert_eq!(bench.clients.answered, 286 + 256);
    bench.check_counts();
}

#[test]
fn dead_reads_keep_their_room_and_reads_fail_at_once_until_it_is_back() {
    let mut bench = Bench::new(CONFIG, random());
    // All room but one line.
    burst_of(&mut bench, 0, 31, 512, Fate::Late);
    burst_of(&mut bench, 1, 1, 448, Fate::Late);
    let wait = |bench: &mut Bench, most: u64| {
        let end = bench.now() + most;
        while !bench.clients.idle() {
            bench.cycle(&mut |_, _| None, &mut |_| panic!("there is no room"));
            assert!(bench.now() < end, "{most} cycles");
        }
    };
    wait(&mut bench, 2 << LOG2_TIMEOUT);
    assert_eq!((bench.clients.failed, bench.counts.timeouts), (32, 32));

    // There are slots, but no room: each class's reads fail, without a time-out.
    let mut asked = 0;
    while asked < 90 {
        bench.cycle(
            &mut |clients, _| {
                asked += 1;
                clients.request(asked % 3, 4096 * asked as u64, 128, false)
            },
            &mut |_| panic!("there is no room"),
        );
        bench.clients.fail_all();
    }
    // The last one is taken.
    bench.cycle(&mut |_, _| None, &mut |_| panic!("there is no room"));
    bench.clients.fail_all();
    wait(&mut bench, 2_000);
    assert_eq!((bench.clients.failed, bench.counts.timeouts), (122, 32));

    // One line is left, and reads that need no more go on, one at a time.
    for class in 0..CLASSES.len() {
        burst(&mut bench, class, 20, Fate::Good);
    }
    wait(&mut bench, 2_000);
    assert_eq!((bench.clients.failed, bench.clients.answered), (122, 182));

    // The late answers bring all room back.
    while !bench.host.idle() {
        bench.cycle(&mut |_, _| None, &mut |_| Fate::Good);
    }
    bench.drain(100);
    assert_eq!(bench.host.outstanding(), 0);
    burst_of(&mut bench, 0, 100, 512, Fate::Good);
    bench.drain(10_000);
    assert_eq!(bench.clients.failed, 122);
    bench.check_counts();
}
