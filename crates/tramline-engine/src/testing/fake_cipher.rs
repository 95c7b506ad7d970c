//! A sealer for tests: it offers no protection, but passes the contract.

use crate::ports::{Cipher, CipherFault};

/// Encrypts with a key of one byte.
pub struct FakeCipher(pub u8);

impl Cipher for FakeCipher {
    fn encrypt(&self, name: &str, plain: &[u8]) -> Result<Vec<u8>, CipherFault> {
        let mut sealed = vec![self.sum(name, plain)];
        sealed.extend(plain.iter().map(|byte| byte ^ self.0 ^ 0x80));
        Ok(sealed)
    }

    fn decrypt(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, CipherFault> {
        let plain: Vec<u8> = sealed
            .iter()
            .skip(1)
            .map(|byte| byte ^ self.0 ^ 0x80)
            .collect();
        match sealed.first() {
            Some(sum) if *sum == self.sum(name, &plain) => Ok(plain),
            Some(_) | None => Err(CipherFault {
                message: "the text is damaged, or the key is different".into(),
            }),
        }
    }
}

impl FakeCipher {
    fn sum(&self, name: &str, plain: &[u8]) -> u8 {
        let all = name.bytes().chain(plain.iter().copied());
        all.fold(self.0, |sum, byte| sum.rotate_left(3) ^ byte)
    }
}
