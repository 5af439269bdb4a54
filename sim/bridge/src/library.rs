//! A model's shared library, loaded.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{BridgeError, ModelSpec, Port, PortInfo, WidePort};

/// Mirror of the shim's `Port`.
#[repr(C)]
struct RawPort {
    name: *const c_char,
    bits: u32,
    input: u32,
}

/// The shim's functions. All but `ports` and `create` take an instance that `create` returned.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    pub create: unsafe extern "C" fn(u32) -> *mut c_void,
    pub delete: unsafe extern "C" fn(*mut c_void),
    pub eval: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    pub error: unsafe extern "C" fn(*const c_void) -> *const c_char,
    pub finished: unsafe extern "C" fn(*const c_void) -> c_int,
    pub port: unsafe extern "C" fn(*mut c_void, u32) -> *mut c_void,
    pub wave_open: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
    pub wave_dump: unsafe extern "C" fn(*mut c_void, u64),
    pub wave_close: unsafe extern "C" fn(*mut c_void),
}

/// A verilated design, from which any number of [`Model`](crate::Model)s are made.
pub struct Library {
    /// Tells libraries apart at run time; ports carry it.
    pub(crate) id: u32,
    pub(crate) functions: Functions,
    pub(crate) threads: u32,
    pub(crate) traced: bool,
    top: String,
    ports: Vec<PortInfo>,
    slots: HashMap<String, u32>,
    /// Keeps the code mapped.
    _code: libloading::Library,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library")
            .field("top", &self.top)
            .field("ports", &self.ports)
            .finish_non_exhaustive()
    }
}

impl Library {
    pub(crate) fn load(spec: &ModelSpec, path: &Path) -> Result<Self, BridgeError> {
        static NEXT_ID: AtomicU32 = AtomicU32::new(0);
        let load = |source| BridgeError::Load {
            path: path.to_owned(),
            source,
        };
        // SAFETY: the library was built by `build` from the shim, whose initialisers are those of
        // Verilator's run-time library and have no preconditions.
        let code = unsafe { libloading::Library::new(path) }.map_err(load)?;
        // SAFETY: the types below are those of the functions in shim.cpp. `code` outlives them,
        // as it is kept in the same struct.
        let (functions, raw_ports) = unsafe {
            let functions = Functions {
                create: *code.get(b"ferroce_new\0").map_err(load)?,
                delete: *code.get(b"ferroce_delete\0").map_err(load)?,
                eval: *code.get(b"ferroce_eval\0").map_err(load)?,
                error: *code.get(b"ferroce_error\0").map_err(load)?,
                finished: *code.get(b"ferroce_finished\0").map_err(load)?,
                port: *code.get(b"ferroce_port\0").map_err(load)?,
                wave_open: *code.get(b"ferroce_wave_open\0").map_err(load)?,
                wave_dump: *code.get(b"ferroce_wave_dump\0").map_err(load)?,
                wave_close: *code.get(b"ferroce_wave_close\0").map_err(load)?,
            };
            let ports: libloading::Symbol<unsafe extern "C" fn() -> *const RawPort> =
                code.get(b"ferroce_ports\0").map_err(load)?;
            (functions, ports())
        };
        // SAFETY: the shim returns a static table that ends with a null name.
        let ports = unsafe { read_ports(raw_ports) };
        let slots = (0..)
            .zip(&ports)
            .map(|(slot, port)| (port.name.clone(), slot))
            .collect();
        Ok(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            functions,
            threads: spec.threads,
            traced: spec.trace,
            top: spec.top.clone(),
            ports,
            slots,
            _code: code,
        })
    }

    /// Top module's name.
    pub fn top(&self) -> &str {
        &self.top
    }

    /// All ports, in Verilator's order.
    pub fn ports(&self) -> &[PortInfo] {
        &self.ports
    }

    /// Handle to a port of any width. It is good for all models of this library.
    ///
    /// # Errors
    /// No such port.
    pub fn port(&self, name: &str) -> Result<Port, BridgeError> {
        let slot = self
            .slots
            .get(name)
            .ok_or_else(|| BridgeError::UnknownPort {
                top: self.top.clone(),
                name: name.to_owned(),
                known: self
                    .ports
                    .iter()
                    .map(|port| port.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            })?;
        Ok(Port {
            library: self.id,
            slot: *slot,
            bits: self.ports[*slot as usize].bits,
        })
    }

    /// Handle to a port of more than 64 bits.
    ///
    /// # Errors
    /// No such port, or a narrower one.
    pub fn wide_port(&self, name: &str) -> Result<WidePort, BridgeError> {
        let port = self.port(name)?;
        if port.bits <= u64::BITS {
            return Err(BridgeError::NotWide {
                top: self.top.clone(),
                name: name.to_owned(),
                bits: port.bits,
            });
        }
        Ok(WidePort(port))
    }
}

/// # Safety
/// `raw` points to an array of ports with valid C strings, the last one with a null name.
unsafe fn read_ports(mut raw: *const RawPort) -> Vec<PortInfo> {
    let mut ports = Vec::new();
    loop {
        // SAFETY: within the array, as its end has not been seen yet.
        let port = unsafe { &*raw };
        if port.name.is_null() {
            return ports;
        }
        ports.push(PortInfo {
            // SAFETY: a valid C string, by this function's contract.
            name: unsafe { CStr::from_ptr(port.name) }
                .to_string_lossy()
                .into_owned(),
            bits: port.bits,
            input: port.input != 0,
        });
        // SAFETY: the array goes on up to the null name.
        raw = unsafe { raw.add(1) };
    }
}
