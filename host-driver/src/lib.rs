//! ferroce-driver
