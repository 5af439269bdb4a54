//! A running instance of a verilated design.

use std::ffi::{c_void, CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::{BridgeError, Library};

/// A port of one library's models. Copy it around freely; access takes no look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    pub(crate) library: u32,
    pub(crate) slot: u32,
    pub(crate) bits: u32,
}

impl Port {
    /// Width in bits.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// 32-bit words that hold its value.
    pub fn word_count(self) -> usize {
        self.bits.div_ceil(u32::BITS) as usize
    }

    /// Verilator's storage for this width.
    #[inline]
    fn storage(self) -> Storage {
        match self.bits {
            0..=8 => Storage::U8,
            9..=16 => Storage::U16,
            17..=32 => Storage::U32,
            33..=64 => Storage::U64,
            _ => Storage::Words,
        }
    }

    /// Ones where the port has bits, within the lowest 64.
    #[inline]
    fn mask(self) -> u64 {
        u64::MAX >> u64::BITS.saturating_sub(self.bits)
    }
}

enum Storage {
    U8,
    U16,
    U32,
    U64,
    Words,
}

/// A port of more than 64 bits, whose value is an array of words, least significant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WidePort(pub(crate) Port);

impl From<WidePort> for Port {
    fn from(wide: WidePort) -> Self {
        wide.0
    }
}

/// An independent instance with its own state and time.
///
/// The usual cycle: set inputs, set the clock, [`eval`](Self::eval), read outputs. Inputs take
/// effect, and outputs change, at `eval` only.
///
/// Accessors panic when given a port of another library: a mistake in the program, not in its input.
pub struct Model {
    library: Arc<Library>,
    instance: NonNull<c_void>,
    /// Address of each port's value, by slot.
    slots: Box<[NonNull<u8>]>,
    now_fs: u64,
    /// Time of the last dump while waves are recorded.
    wave: Option<Option<u64>>,
}

// SAFETY: an instance shares no mutable state with others (each has its own VerilatedContext) and
// has no affinity to the thread that made it; `&mut self` or ownership excludes simultaneous use.
unsafe impl Send for Model {}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("top", &self.library.top())
            .field("now_fs", &self.now_fs)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// Makes an instance at time 0, settled with all inputs at 0 and registers at their initial
    /// values.
    ///
    /// # Errors
    /// The model's constructor fails (out of memory or threads).
    pub fn new(library: &Arc<Library>) -> Result<Self, BridgeError> {
        // SAFETY: `create` has no preconditions.
        let instance = unsafe { (library.functions.create)(library.threads) };
        let instance = NonNull::new(instance).ok_or_else(|| BridgeError::Simulation {
            top: library.top().to_owned(),
            time_fs: 0,
            message: "its constructor failed".to_owned(),
        })?;
        let slots = (0..library.ports().len() as u32)
            .map(|slot| {
                // SAFETY: the instance is alive and the slot is in the library's table, for which
                // the shim returns a member's address, which is not null.
                unsafe {
                    NonNull::new_unchecked((library.functions.port)(instance.as_ptr(), slot).cast())
                }
            })
            .collect();
        Ok(Self {
            library: Arc::clone(library),
            instance,
            slots,
            now_fs: 0,
            wave: None,
        })
    }

    /// The design this is an instance of.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// Same as [`Library::port`].
    ///
    /// # Errors
    /// No such port.
    pub fn port(&self, name: &str) -> Result<Port, BridgeError> {
        self.library.port(name)
    }

    /// Same as [`Library::wide_port`].
    ///
    /// # Errors
    /// No such port, or a narrower one.
    pub fn wide_port(&self, name: &str) -> Result<WidePort, BridgeError> {
        self.library.wide_port(name)
    }

    #[inline]
    fn address(&self, port: Port) -> *mut u8 {
        assert_eq!(
            port.library,
            self.library.id,
            "a port of another library was used on model {}",
            self.library.top()
        );
        self.slots[port.slot as usize].as_ptr()
    }

    /// A port's lowest 64 bits.
    #[inline]
    pub fn get_u64(&self, port: Port) -> u64 {
        let address = self.address(port);
        // SAFETY: the address is that of a live member of this library's class; Verilator stores a
        // port of this width in this type. Only `&mut self` writes it.
        unsafe {
            match port.storage() {
                Storage::U8 => u64::from(*address),
                Storage::U16 => u64::from(*address.cast::<u16>()),
                Storage::U32 => u64::from(*address.cast::<u32>()),
                Storage::U64 => *address.cast::<u64>(),
                Storage::Words => {
                    let words = address.cast::<u32>();
                    u64::from(*words) | u64::from(*words.add(1)) << 32
                }
            }
        }
    }

    /// Whether any of a port's lowest 64 bits is set; for single-bit ports.
    #[inline]
    pub fn get_bool(&self, port: Port) -> bool {
        self.get_u64(port) != 0
    }

    /// Sets a port; bits that it does not have are dropped, those above 64 become 0.
    #[inline]
    pub fn set_u64(&mut self, port: Port, value: u64) {
        let value = value & port.mask();
        let address = self.address(port);
        // SAFETY: as in `get_u64`; `&mut self` excludes other readers and writers.
        unsafe {
            match port.storage() {
                Storage::U8 => *address = value as u8,
                Storage::U16 => *address.cast::<u16>() = value as u16,
                Storage::U32 => *address.cast::<u32>() = value as u32,
                Storage::U64 => *address.cast::<u64>() = value,
                Storage::Words => {
                    let words = self.words_mut(WidePort(port));
                    words.fill(0);
                    words[0] = value as u32;
                    words[1] = (value >> 32) as u32;
                }
            }
        }
    }

    /// Sets a single-bit port.
    #[inline]
    pub fn set_bool(&mut self, port: Port, value: bool) {
        self.set_u64(port, u64::from(value));
    }

    /// A wide port's words in place, least significant first.
    #[inline]
    pub fn words(&self, port: WidePort) -> &[u32] {
        let address = self.address(port.0);
        // SAFETY: Verilator stores a port above 64 bits as an array of as many 32-bit words as its
        // width needs; it lives as long as `self`, and is only written through `&mut self`.
        unsafe { std::slice::from_raw_parts(address.cast::<u32>(), port.0.word_count()) }
    }

    /// A wide port's words, to be written in place. Bits above the port's width must stay 0.
    #[inline]
    pub fn words_mut(&mut self, port: WidePort) -> &mut [u32] {
        let address = self.address(port.0);
        // SAFETY: as in `words`; `&mut self` excludes other readers and writers.
        unsafe { std::slice::from_raw_parts_mut(address.cast::<u32>(), port.0.word_count()) }
    }

    /// A wide port's bytes in place, least significant first: byte n is bits 8n+7 to 8n.
    #[cfg(target_endian = "little")]
    #[inline]
    pub fn bytes(&self, port: WidePort) -> &[u8] {
        let words = self.words(port);
        // SAFETY: the same memory, whose words are stored low byte first; bytes need no alignment.
        unsafe {
            std::slice::from_raw_parts(words.as_ptr().cast(), port.0.bits.div_ceil(8) as usize)
        }
    }

    /// A wide port's bytes, to be written in place. Bits above the port's width must stay 0.
    #[cfg(target_endian = "little")]
    #[inline]
    pub fn bytes_mut(&mut self, port: WidePort) -> &mut [u8] {
        let words = self.words_mut(port);
        // SAFETY: as in `bytes`; the exclusive borrow is passed on.
        unsafe {
            std::slice::from_raw_parts_mut(
                words.as_mut_ptr().cast(),
                port.0.bits.div_ceil(8) as usize,
            )
        }
    }

    /// Copies a port of any width out; words beyond its width become 0, missing ones are left out.
    pub fn read_words(&self, port: Port, words: &mut [u32]) {
        words.fill(0);
        if port.bits > u64::BITS {
            let value = self.words(WidePort(port));
            let count = value.len().min(words.len());
            words[..count].copy_from_slice(&value[..count]);
        } else {
            let value = self.get_u64(port);
            for (word, shift) in words.iter_mut().zip([0, 32]) {
                *word = (value >> shift) as u32;
            }
        }
    }

    /// Sets a port of any width; missing words count as 0, bits beyond its width are dropped.
    pub fn write_words(&mut self, port: Port, words: &[u32]) {
        if port.bits > u64::BITS {
            let value = self.words_mut(WidePort(port));
            let count = value.len().min(words.len());
            value[..count].copy_from_slice(&words[..count]);
            value[count..].fill(0);
            let unused = value.len() as u32 * u32::BITS - port.bits;
            if let Some(last) = value.last_mut() {
                *last &= u32::MAX >> unused;
            }
        } else {
            let word = |index: usize| u64::from(words.get(index).copied().unwrap_or(0));
            self.set_u64(port, word(0) | word(1) << 32);
        }
    }

    /// Time of the next evaluation in femtoseconds, as `$time` and waves show it.
    #[inline]
    pub fn set_time(&mut self, now_fs: u64) {
        self.now_fs = now_fs;
    }

    /// Time in femtoseconds.
    pub fn time(&self) -> u64 {
        self.now_fs
    }

    /// Lets the design react to its inputs, clock edges included, and records waves if open.
    ///
    /// # Errors
    /// `$stop`, `$fatal`, a failed assertion, or logic that does not settle. The model's state is
    /// then undefined.
    #[inline]
    pub fn eval(&mut self) -> Result<(), BridgeError> {
        // SAFETY: the instance is alive and `&mut self` excludes other calls.
        let failed =
            unsafe { (self.library.functions.eval)(self.instance.as_ptr(), self.now_fs) } != 0;
        if failed {
            return Err(self.failure());
        }
        if let Some(last) = &mut self.wave {
            // Two evaluations at one time are kept apart by a femtosecond.
            let at = last.map_or(self.now_fs, |last: u64| self.now_fs.max(last + 1));
            *last = Some(at);
            // SAFETY: as above; waves are open.
            unsafe { (self.library.functions.wave_dump)(self.instance.as_ptr(), at) };
        }
        Ok(())
    }

    #[cold]
    fn failure(&self) -> BridgeError {
        // SAFETY: the instance is alive; the shim returns its error text, valid until its next call.
        let message =
            unsafe { CStr::from_ptr((self.library.functions.error)(self.instance.as_ptr())) };
        BridgeError::Simulation {
            top: self.library.top().to_owned(),
            time_fs: self.now_fs,
            message: message.to_string_lossy().into_owned(),
        }
    }

    /// Whether the design has called `$finish`.
    pub fn finished(&self) -> bool {
        // SAFETY: the instance is alive.
        unsafe { (self.library.functions.finished)(self.instance.as_ptr()) != 0 }
    }

    /// Records all signals in an FST file from now on, one sample an evaluation, in femtoseconds.
    /// Waves that were open already are closed.
    ///
    /// # Errors
    /// A model built without tracing; a file that can't be created.
    pub fn open_wave(&mut self, path: &Path) -> Result<(), BridgeError> {
        if !self.library.traced {
            return Err(BridgeError::NotTraced {
                top: self.library.top().to_owned(),
            });
        }
        self.close_wave();
        // The C++ writer would report a bad path only at the end, if at all.
        std::fs::File::create(path).map_err(BridgeError::io("create", path))?;
        let failed = || BridgeError::Wave {
            path: path.to_owned(),
        };
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| failed())?;
        // SAFETY: the instance is alive and the path is a C string.
        if unsafe { (self.library.functions.wave_open)(self.instance.as_ptr(), name.as_ptr()) } != 0
        {
            return Err(failed());
        }
        self.wave = Some(None);
        Ok(())
    }

    /// Completes the wave file. Dropping the model does so too.
    pub fn close_wave(&mut self) {
        if self.wave.take().is_some() {
            // SAFETY: the instance is alive and waves were open.
            unsafe { (self.library.functions.wave_close)(self.instance.as_ptr()) };
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.close_wave();
        // SAFETY: the instance came from `create` and is not used after this.
        unsafe { (self.library.functions.delete)(self.instance.as_ptr()) };
    }
}
