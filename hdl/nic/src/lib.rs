//! ferroce-nic
