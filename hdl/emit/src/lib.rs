//! ferroce-emit
