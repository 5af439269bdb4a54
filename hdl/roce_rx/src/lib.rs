//! ferroce-roce-rx
