use super::*;

#[test]
fn lengths_on_the_link() {
    let low = Request::Read(MemRead::of_bytes(0xffff_fffc, 4, 0, 0));
    let high = Request::Read(MemRead::of_bytes(0x1_0000_0000, 4, 0, 0));
    assert_eq!((low.link_bytes(), high.link_bytes()), (20, 24));
    let write = MemWrite::of_bytes(0x7f00_0000_0001, &[1; 255], 0);
    assert_eq!(Request::Write(write).link_bytes(), 256 + 24);
}

#[test]
fn runs_follow_the_enables() {
    let mut write = MemWrite::of_bytes(0x101, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 0);
    let runs: Vec<_> = write.runs().map(|(a, b)| (a, b.len())).collect();
    assert_eq!(runs, [(0x101, 12)]);
    write.payload = vec![7; 8];
    write.addr = 0x100;
    write.enables = ByteEnables {
        first: 0b1101,
        last: 0b0101,
    };
    let runs: Vec<_> = write.runs().map(|(a, b)| (a, b.len())).collect();
    assert_eq!(runs, [(0x100, 1), (0x102, 3), (0x106, 1)]);
    write.enables = ByteEnables::default();
    assert_eq!(write.runs().count(), 0);
}

#[test]
fn completions_know_when_they_are_the_last() {
    let mut piece = Completion {
        requester: 0,
        tag: 0,
        completer: 0,
        status: Status::Success,
        byte_count: 70,
        lower_address: 0x3e,
        poisoned: false,
        payload: vec![0; 4],
    };
    assert_eq!((piece.bytes(), piece.ends_request()), (2, false));
    (piece.byte_count, piece.lower_address) = (68, 0x40);
    piece.payload = vec![0; 68];
    assert!(piece.ends_request());
    (piece.status, piece.payload) = (Status::CompleterAbort, Vec::new());
    assert!(piece.ends_request());
}
