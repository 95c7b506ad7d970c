//! A sealer for tests: it hides nothing from anybody who looks, and keeps the contract.

use crate::seams::{SealFault, Sealer};

/// Seals under a key of one byte.
pub struct FakeSealer(pub u8);

impl Sealer for FakeSealer {
    fn seal(&self, name: &str, plain: &[u8]) -> Result<Vec<u8>, SealFault> {
        let mut sealed = vec![self.sum(name, plain)];
        sealed.extend(plain.iter().map(|byte| byte ^ self.0 ^ 0x80));
        Ok(sealed)
    }

    fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, SealFault> {
        let plain: Vec<u8> = sealed
            .iter()
            .skip(1)
            .map(|byte| byte ^ self.0 ^ 0x80)
            .collect();
        match sealed.first() {
            Some(sum) if *sum == self.sum(name, &plain) => Ok(plain),
            Some(_) | None => Err(SealFault {
                message: "this is not what was sealed, or the key is another".into(),
            }),
        }
    }
}

impl FakeSealer {
    fn sum(&self, name: &str, plain: &[u8]) -> u8 {
        let all = name.bytes().chain(plain.iter().copied());
        all.fold(self.0, |sum, byte| sum.rotate_left(3) ^ byte)
    }
}
