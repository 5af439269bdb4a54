//! Tries the back ends without a Ferroce card, on an NVMe controller that no kernel driver but vfio-pci is bound to:
//! `cargo run -p ferroce-driver --example nvme ADDRESS`. It resets the controller, gives it an admin queue pair in memory for
//! the card, and has it identify itself by DMA, waiting for the interrupt where there is one. Data on the
//! drive is not touched. `docs/driver.md` says how to run it in a virtual machine.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod nvme {
    use ferroce_driver::linux::{Card, Interrupt, Paths, SysfsCard, VfioCard};
    use ferroce_driver::{Bar, DmaMemory};
    use std::error::Error as StdError;
    use std::time::{Duration, Instant};

    type Failure = Box<dyn StdError>;

    /// Registers of the NVM Express base specification: controller configuration and status, admin queues.
    const CC: u64 = 0x14;
    const CSTS: u64 = 0x1C;
    const AQA: u64 = 0x24;
    const ASQ: u64 = 0x28;
    const ACQ: u64 = 0x30;
    const SQ0_TAIL: u64 = 0x1000;
    /// Enabled, with queue entries of 64 and 16 bytes.
    const CC_ENABLE: u32 = 1 | 6 << 16 | 4 << 20;
    /// Zero's based sizes of both queues.
    const AQA_16_ENTRIES: u32 = 15 << 16 | 15;
    /// Opcode and command id of the first command: Identify.
    const IDENTIFY: u32 = 0x06 | 0x5A << 16;
    /// What Identify asks for: the controller.
    const IDENTIFY_CONTROLLER: u32 = 1;
    const TIMEOUT: Duration = Duration::from_secs(5);

    fn wait_for(
        what: &str,
        mut done: impl FnMut() -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        while !done()? {
            if start.elapsed() > TIMEOUT {
                return Err(format!("{what} did not come in {TIMEOUT:?}").into());
            }
        }
        Ok(())
    }

    /// Switches the controller on or off.
    fn enable(bar: &dyn Bar, on: bool) -> Result<(), Failure> {
        bar.write32(CC, if on { CC_ENABLE } else { 0 })?;
        wait_for("the ready bit", || Ok((bar.read32(CSTS)? & 1 == 1) == on))
    }

    /// The controller's model number.
    fn identify(
        bar: &dyn Bar,
        memory: &dyn DmaMemory,
        interrupt: Option<&Interrupt>,
    ) -> Result<String, Failure> {
        enable(bar, false)?;
        let submissions = memory.allocate(4096, 4096)?;
        let completions = memory.allocate(4096, 4096)?;
        let data = memory.allocate(4096, 4096)?;
        println!(
            "buffers at {:#x}, {:#x}, {:#x}",
            submissions.iova(),
            completions.iova(),
            data.iova()
        );
        bar.write32(AQA, AQA_16_ENTRIES)?;
        bar.write64(ASQ, submissions.iova())?;
        bar.write64(ACQ, completions.iova())?;
        enable(bar, true)?;
        let mut command = [0; 64];
        command[..4].copy_from_slice(&IDENTIFY.to_le_bytes());
        command[24..32].copy_from_slice(&data.iova().to_le_bytes());
        command[40..44].copy_from_slice(&IDENTIFY_CONTROLLER.to_le_bytes());
        submissions.write(0, &command)?;
        bar.write32(SQ0_TAIL, 1)?;
        if let Some(interrupt) = interrupt {
            println!("{} interrupt(s)", interrupt.wait(TIMEOUT)?);
        }
        // The phase bit of the first completion.
        wait_for("the completion", || {
            Ok(completions.load_acquire(14)? & 1 == 1)
        })?;
        let mut status = [0; 2];
        completions.read(14, &mut status)?;
        if u16::from_le_bytes(status) >> 1 != 0 {
            return Err(format!("Identify ended with status {status:02x?}").into());
        }
        let mut model = [0; 40];
        data.read(24, &mut model)?;
        enable(bar, false)?;
        Ok(String::from_utf8_lossy(&model).trim().into())
    }

    pub fn run() -> Result<(), Failure> {
        let address = std::env::args().nth(1).ok_or("usage: nvme ADDRESS")?;
        let paths = Paths::default();
        let card = Card::any_at(&paths.sys, address.parse()?)?;
        let model = if card.driver.as_deref() == Some("vfio-pci") {
            let opened = VfioCard::open(&card, &paths.vfio)?;
            let interrupts = opened.interrupts(1)?;
            opened.set_bus_master(true)?;
            let model = identify(&*opened.bar(), &*opened.memory(), interrupts.first());
            // Without the bus the controller must be unable to fetch a command.
            opened.reset()?;
            if identify(&*opened.bar(), &*opened.memory(), None).is_ok() {
                return Err("the controller used the bus without being bus master".into());
            }
            model?
        } else {
            let opened = SysfsCard::open(&card, &paths.proc)?;
            opened.set_bus_master(true)?;
            identify(&*opened.bar(), &*opened.memory(), None)?
        };
        println!("{address} is a {model}");
        Ok(())
    }
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn main() {
    if let Err(error) = nvme::run() {
        eprintln!("error: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            eprintln!("  because: {error}");
            cause = error.source();
        }
        std::process::exit(1);
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn main() {
    eprintln!("error: cards are supported on Linux on x86-64 and AArch64 only");
    std::process::exit(1);
}
