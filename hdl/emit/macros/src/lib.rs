//! ferroce-emit-macros
