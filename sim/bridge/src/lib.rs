//! ferroce-bridge
