//! The argument that binds MSI-X vectors to events.

use std::os::fd::RawFd;
use vfio_bindings::bindings::vfio::{
    vfio_irq_set, VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_DATA_EVENTFD, VFIO_IRQ_SET_DATA_NONE,
    VFIO_PCI_MSIX_IRQ_INDEX,
};

/// A `vfio_irq_set` that lets vector `k` signal the `k`-th event; without events MSI-X is switched off.
pub(super) fn msix(events: &[RawFd]) -> Vec<u32> {
    let data = if events.is_empty() {
        VFIO_IRQ_SET_DATA_NONE
    } else {
        VFIO_IRQ_SET_DATA_EVENTFD
    };
    let mut words = vec![
        (size_of::<vfio_irq_set>() + size_of_val(events)) as u32,
        data | VFIO_IRQ_SET_ACTION_TRIGGER,
        VFIO_PCI_MSIX_IRQ_INDEX,
        0,
        events.len() as u32,
    ];
    words.extend(events.iter().map(|&event| event as u32));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn words_lie_where_the_structure_has_its_fields() {
        assert_eq!(
            [
                offset_of!(vfio_irq_set, argsz),
                offset_of!(vfio_irq_set, flags),
                offset_of!(vfio_irq_set, index),
                offset_of!(vfio_irq_set, start),
                offset_of!(vfio_irq_set, count),
                offset_of!(vfio_irq_set, data),
            ],
            [0, 4, 8, 12, 16, 20],
        );
        // ACTION_TRIGGER is bit 5, DATA_EVENTFD bit 2, DATA_NONE bit 0; MSI-X has index 2.
        assert_eq!(msix(&[9, 11]), [28, 0x24, 2, 0, 2, 9, 11]);
        assert_eq!(msix(&[]), [20, 0x21, 2, 0, 0]);
    }
}
