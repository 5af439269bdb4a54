//! ferroce-rtl
