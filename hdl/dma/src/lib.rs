//! ferroce-dma
