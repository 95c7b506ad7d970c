//! The contract of every sealer.

#![allow(clippy::expect_used, reason = "a contract that is broken fails loudly")]

use crate::ports::Cipher;

/// Checks one sealer, and another one with a different key.
pub fn cipher_contract(sealer: &dyn Cipher, other: &dyn Cipher) {
    let secret = b"a secret that is long enough to be seen";
    let sealed = sealer.encrypt("KEY", secret).expect("it seals");
    let seen = sealed
        .windows(8)
        .any(|window| secret.windows(8).any(|part| part == window));
    assert!(!seen, "the secret is visible");
    assert_eq!(sealer.decrypt("KEY", &sealed).expect("it opens"), secret);
    let empty = sealer.encrypt("KEY", b"").expect("it seals nothing");
    assert_eq!(sealer.decrypt("KEY", &empty).expect("and opens it"), b"");
    assert!(
        sealer.decrypt("OTHER", &sealed).is_err(),
        "under another name"
    );
    assert!(other.decrypt("KEY", &sealed).is_err(), "with another key");
    assert!(sealer.decrypt("KEY", b"").is_err(), "nothing at all");
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        let opened = sealer.decrypt("KEY", &changed);
        assert!(opened.is_err(), "byte {at} was changed");
    }
    let cut = sealer.decrypt("KEY", &sealed[..sealed.len() - 1]);
    assert!(cut.is_err(), "the last byte is missing");
}
