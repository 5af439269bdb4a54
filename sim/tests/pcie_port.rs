//! A card with the streams of the PCIe block, Verilated, against the block's and the host's model.

use std::sync::Arc;

use ferroce_bridge::{Effort, Library, Model, ModelSpec, Port, Waiver};
use ferroce_pcie::root::{Fault, Scripted};

use ferroce_sim::memory::HostMemory;
use ferroce_sim::pcie::{BarAccess, PcieConfig, PciePort};

fn library() -> Arc<Library> {
    let spec = ModelSpec::new("copier")
        .source("copier.v", include_str!("copier.v"))
        .waive([
            Waiver::everywhere("UNUSEDSIGNAL", "a card this small needs few fields"),
            Waiver::everywhere("WIDTHEXPAND", "fields are narrower than their places"),
        ])
        .effort(Effort::Build);
    ferroce_bridge::build(&spec).unwrap()
}

struct Bench {
    model: Model,
    clock: Port,
    port: PciePort,
    memory: HostMemory,
}

impl Bench {
    fn new(config: PcieConfig) -> Self {
        let library = library();
        Self {
            model: Model::new(&library).unwrap(),
            clock: library.port("core_clock").unwrap(),
            port: PciePort::new(&library, config, 7).unwrap(),
            memory: HostMemory::default(),
        }
    }

    fn cycle(&mut self) {
        self.port.before_edge(&self.model);
        self.model.set_bool(self.clock, true);
        self.model.eval().unwrap();
        self.port.after_edge(&mut self.model, &mut self.memory);
        self.model.set_bool(self.clock, false);
        self.model.eval().unwrap();
    }

    fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
        assert_eq!(self.port.violation(), None);
    }

    fn store(&mut self, offset: u32, value: u64) {
        self.port.push(BarAccess {
            offset,
            store: Some(value),
            width: 8,
        });
    }

    fn load(&mut self, offset: u32, width: u8) -> u64 {
        self.port.push(BarAccess {
            offset,
            store: None,
            width,
        });
        for _ in 0..5000 {
            self.cycle();
            if let Some(answer) = self.port.answer() {
                return answer;
            }
        }
        panic!("no answer: {:?}", self.port.violation());
    }
}

fn configs() -> [PcieConfig; 2] {
    let mut single = PcieConfig::default();
    single.block.straddle_rq = false;
    single.block.straddle_rc = false;
    single.block.pause = 0.3;
    [PcieConfig::default(), single]
}

#[test]
fn a_card_copies_memory_over_the_streams() {
    for config in configs() {
        let mut bench = Bench::new(config);
        let source = bench.memory.allocate(4096, 4096, 0);
        let target = bench.memory.allocate(4096, 4096, 0);
        let bytes: Vec<u8> = (0..=255).cycle().take(4096).collect();
        bench.memory.write(source, &bytes).unwrap();
        for k in 0..20 {
            bench.store(0, source + k * 64);
            bench.store(8, target + k * 128);
            while bench.load(0, 8) <= k {}
        }
        bench.run(500);
        assert!(bench.port.idle());
        for k in 0..20 {
            let from = k as usize * 64;
            let copy = bench.memory.slice(target + k * 128, 64).unwrap();
            assert_eq!(copy[..32], bytes[from..from + 32]);
            assert_eq!(copy[32..], [0; 32]);
        }
        assert_eq!(bench.load(0, 4), 20);
        // Refused: the host's processor sees ones.
        assert_eq!(bench.load(16, 4), 0xffff_ffff);
        let stats = bench.port.stats();
        assert_eq!((stats.reads, stats.read_bytes), (20, 640));
        assert_eq!((stats.writes, stats.write_bytes), (20, 640));
        assert_eq!(stats.faults, 0);
        assert!(bench.port.idle());
        assert_eq!(bench.port.violation(), None);
    }
}

#[test]
fn unmapped_memory_and_faults_are_counted() {
    let mut bench = Bench::new(PcieConfig::default());
    let target = bench.memory.allocate(64, 64, 0);
    bench.store(0, 0x1000);
    bench.store(8, target);
    bench.run(2000);
    assert_eq!(bench.port.stats().faults, 1);
    bench.port.script(Scripted {
        read: 1,
        piece: 0,
        fault: Fault::Late(3000),
    });
    bench.store(0, target);
    bench.store(8, target);
    bench.run(3000);
    assert!(!bench.port.idle());
    bench.run(2000);
    assert!(bench.port.idle());
    assert_eq!(bench.port.link_stats().faults, 1);
}
