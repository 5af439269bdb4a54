//! ferroce-roce-tx
