//! Finds the machine's Ferroce cards, opens one and prints what it says of itself:
//! `cargo run -p ferroce-driver --example card [ADDRESS]`. Ends with status 1 and the reason when there is none.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod card {
    use ferroce_driver::linux::{self, Backend, Card, Link, OpenError, Paths};
    use ferroce_driver::{Access, Device, Error};
    use std::error::Error as StdError;

    fn link(link: Option<Link>) -> String {
        link.map_or("link unknown".into(), |link| link.to_string())
    }

    fn print(card: &Card) {
        let (now, best) = (link(card.link), link(card.max_link));
        println!("{}: {now} (at best {best})", card.address);
        for resource in &card.resources {
            println!("  BAR {}: {} bytes", resource.bar, resource.len);
        }
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".into());
        println!(
            "  NUMA node: {}",
            or_none(card.numa_node.map(|n| n.to_string()))
        );
        println!(
            "  IOMMU group: {}",
            or_none(card.iommu_group.map(|n| n.to_string()))
        );
        println!("  kernel driver: {}", or_none(card.driver.clone()));
    }

    /// Registers some memory with the card and takes it back.
    fn exercise(device: &Device) -> Result<(), Error> {
        let pd = device.create_pd()?;
        let cq = device.create_cq(256)?;
        let mr = pd.allocate(1 << 16, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
        mr.write(0, b"hello, card")?;
        println!(
            "  CQ {}, {} bytes at {:#x}, key {:#010x}",
            cq.cqn(),
            mr.len(),
            mr.addr(),
            mr.rkey()
        );
        println!("  {}", device.counters()?);
        Ok(())
    }

    fn run() -> Result<(), Box<dyn StdError>> {
        let sys = Paths::default().sys;
        let card = match std::env::args().nth(1) {
            Some(address) => Card::at(&sys, address.parse()?)?,
            None => Card::only(&sys)?,
        };
        print(&card);
        let opened = linux::open(card.address)?;
        let way = match opened.backend() {
            Backend::Vfio(_) => "VFIO",
            Backend::Sysfs(_) => "sysfs",
        };
        let device = opened.device()?;
        println!("opened through {way}: {:#?}", device.capabilities());
        exercise(&device).map_err(OpenError::from)?;
        Ok(())
    }

    pub fn main() {
        if let Err(error) = run() {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprintln!("  because: {error}");
                cause = error.source();
            }
            std::process::exit(1);
        }
    }
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
use card::main;

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn main() {
    eprintln!("error: cards are supported on Linux on x86-64 and AArch64 only");
    std::process::exit(1);
}
