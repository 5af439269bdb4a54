//! ferroce-mac-100g
