//! ferroce-sim
