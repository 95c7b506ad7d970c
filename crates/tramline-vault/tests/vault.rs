//! The vault against its contract, and against damaged or missing key files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use tramline_engine::ports::Cipher as _;
use tramline_engine::testing::cipher_contract;
use tramline_vault::Vault;

#[test]
fn vaults_keep_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("a"), dir.path().join("b"));
    Vault::at(&second).encrypt("x", b"makes the key").unwrap();
    cipher_contract(&Vault::at(&first), &Vault::at(&second));
    cipher_contract(&Vault::in_memory().unwrap(), &Vault::in_memory().unwrap());
}

#[test]
fn the_key_is_its_owners_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("new/settings.key");
    let vault = Vault::at(&file);
    let sealed = vault.encrypt("KEY", b"secret").unwrap();
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o666] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let refused = vault.decrypt("KEY", &sealed).unwrap_err().message;
        let command = format!("chmod 600 {}", file.display());
        assert!(refused.contains(&command), "{refused}");
        assert!(vault.encrypt("KEY", b"more").is_err());
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    assert_eq!(vault.decrypt("KEY", &sealed).unwrap(), b"secret");
}

#[test]
fn a_lost_or_damaged_key_is_told_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("settings.key");
    let vault = Vault::at(&file);
    let sealed = vault.encrypt("KEY", b"secret").unwrap();
    let right = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let lost = vault.decrypt("KEY", &sealed).unwrap_err().message;
    assert!(lost.contains("is missing; restore it"), "{lost}");
    assert!(!file.exists(), "opening creates no key");
    let cut = &right[..right.len() / 2];
    for damaged in [&b""[..], b"something else", cut, &[0xff; 80]] {
        fs::write(&file, damaged).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(vault.decrypt("KEY", &sealed).is_err());
        assert!(vault.encrypt("KEY", b"more").is_err());
        assert_eq!(fs::read(&file).unwrap(), damaged, "it was not replaced");
    }
    fs::write(&file, &right).unwrap();
    assert_eq!(vault.decrypt("KEY", &sealed).unwrap(), b"secret");
}

#[test]
fn vaults_that_begin_together_have_one_key() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("settings.key");
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let vault = Vault::at(&file);
            std::thread::spawn(move || vault.encrypt("KEY", b"secret"))
        })
        .collect();
    let sealed: Vec<_> = threads.into_iter().map(|one| one.join().unwrap()).collect();
    let vault = Vault::at(&file);
    let mut opened = 0;
    for sealed in sealed.into_iter().flatten() {
        assert_eq!(vault.decrypt("KEY", &sealed).unwrap(), b"secret");
        opened += 1;
    }
    assert_eq!(opened, 8);
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1,
        "no temporary files stay"
    );
}
