//! The glibc that a binary needs: the highest `GLIBC_` version among its imported symbols.
//!
//! Reads the ELF section `.gnu.version_r` itself, so that no binutils are needed.

use anyhow::{Context, Result, bail};

/// The type of the section that lists needed versions.
const SHT_GNU_VERNEED: u32 = 0x6fff_fffe;
/// Entries of that section that are read, in all: a binary needs a few dozen.
const NEEDED_MAX: usize = 4_096;

/// A glibc version, such as 2.34.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GlibcVersion {
    pub(super) major: u32,
    pub(super) minor: u32,
}

impl std::fmt::Display for GlibcVersion {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

impl GlibcVersion {
    /// The version in a name such as `GLIBC_2.34` or `GLIBC_2.2.5`; `None` for other names.
    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("GLIBC_")?.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        Some(Self { major, minor })
    }
}

/// The highest glibc version that a 64-bit little-endian ELF file needs.
fn needed(elf: &[u8]) -> Result<GlibcVersion> {
    let versions = needed_names(elf)?;
    versions
        .iter()
        .filter_map(|name| GlibcVersion::parse(name))
        .max()
        .context("the binary needs no version of glibc: is it linked statically?")
}

/// The glibc that a file needs; a newer one than `max` is an error.
pub(super) fn needed_at_most(elf: &[u8], max: GlibcVersion) -> Result<GlibcVersion> {
    let glibc = needed(elf)?;
    if glibc > max {
        bail!(
            "the binary needs glibc {glibc}, at most {max} is allowed: build it on an older system"
        );
    }
    Ok(glibc)
}

/// All names of needed versions.
fn needed_names(elf: &[u8]) -> Result<Vec<String>> {
    if elf.get(..6) != Some(b"\x7fELF\x02\x01") {
        bail!("not a 64-bit little-endian ELF file");
    }
    let sections_at = read_u64(elf, 0x28)?;
    let size = usize::from(read_u16(elf, 0x3a)?);
    let count = usize::from(read_u16(elf, 0x3c)?);
    let header = |index: usize| -> Result<usize> {
        let at = index
            .checked_mul(size)
            .and_then(|at| at.checked_add(sections_at));
        at.context("a section header is out of range")
    };
    let mut names = Vec::new();
    for index in 0..count {
        let at = header(index)?;
        if read_u32(elf, at + 4)? != SHT_GNU_VERNEED {
            continue;
        }
        let strings = usize::try_from(read_u32(elf, at + 0x28)?)?;
        let strings = section(elf, header(strings)?)?;
        collect(section(elf, at)?, strings, &mut names)?;
    }
    Ok(names)
}

/// The content of the section with the header at this offset.
fn section(elf: &[u8], header: usize) -> Result<&[u8]> {
    let begin = read_u64(elf, header + 0x18)?;
    let length = read_u64(elf, header + 0x20)?;
    let end = begin.checked_add(length).context("a section is too long")?;
    elf.get(begin..end).context("a section is out of range")
}

/// Follows the chain of libraries, and each library's chain of versions.
fn collect(needs: &[u8], strings: &[u8], names: &mut Vec<String>) -> Result<()> {
    let mut library = 0_usize;
    for _ in 0..NEEDED_MAX {
        let versions = read_u16(needs, library + 2)?;
        let mut at = library + usize::try_from(read_u32(needs, library + 8)?)?;
        for _ in 0..versions {
            if names.len() >= NEEDED_MAX {
                bail!("the binary needs more than {NEEDED_MAX} versions");
            }
            names.push(text(strings, usize::try_from(read_u32(needs, at + 8)?)?)?);
            at += usize::try_from(read_u32(needs, at + 12)?)?;
        }
        match usize::try_from(read_u32(needs, library + 12)?)? {
            0 => return Ok(()),
            next => library += next,
        }
    }
    bail!("the binary needs more than {NEEDED_MAX} libraries")
}

fn text(strings: &[u8], at: usize) -> Result<String> {
    let rest = strings.get(at..).context("a name is out of range")?;
    let end = rest.iter().position(|byte| *byte == 0);
    let name = rest.get(..end.context("a name has no end")?);
    Ok(String::from_utf8_lossy(name.unwrap_or_default()).into_owned())
}

fn read_u16(bytes: &[u8], at: usize) -> Result<u16> {
    Ok(u16::from_le_bytes(array(bytes, at)?))
}

fn read_u32(bytes: &[u8], at: usize) -> Result<u32> {
    Ok(u32::from_le_bytes(array(bytes, at)?))
}

fn read_u64(bytes: &[u8], at: usize) -> Result<usize> {
    Ok(usize::try_from(u64::from_le_bytes(array(bytes, at)?))?)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let end = at.checked_add(N).context("an offset is out of range")?;
    let found = bytes.get(at..end).context("the file is cut off")?;
    Ok(found.try_into()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One section of needed versions and its strings, in the layout of a real file.
    fn elf(versions: &[&str]) -> Vec<u8> {
        let mut strings = b"\0libc.so.6\0".to_vec();
        let mut needs = Vec::new();
        needs.extend(1_u16.to_le_bytes());
        needs.extend(u16::try_from(versions.len()).unwrap().to_le_bytes());
        for field in [1_u32, 16, 0] {
            needs.extend(field.to_le_bytes());
        }
        for version in versions {
            let name = u32::try_from(strings.len()).unwrap();
            strings.extend(version.bytes().chain([0]));
            needs.extend([0; 8]);
            needs.extend(name.to_le_bytes());
            needs.extend(16_u32.to_le_bytes());
        }
        let mut file = vec![0; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let needs_at = file.len() as u64;
        file.extend(&needs);
        let strings_at = file.len() as u64;
        file.extend(&strings);
        let headers = file.len() as u64;
        file[0x28..0x30].copy_from_slice(&headers.to_le_bytes());
        file[0x3a..0x3c].copy_from_slice(&64_u16.to_le_bytes());
        file[0x3c..0x3e].copy_from_slice(&2_u16.to_le_bytes());
        for (kind, at, length) in [
            (SHT_GNU_VERNEED, needs_at, needs.len()),
            (3, strings_at, strings.len()),
        ] {
            let mut header = vec![0; 64];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[0x18..0x20].copy_from_slice(&at.to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(length as u64).to_le_bytes());
            header[0x28..0x2c].copy_from_slice(&1_u32.to_le_bytes());
            file.extend(header);
        }
        file
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let found = needed(&elf(&[
            "GLIBC_2.9",
            "GLIBC_2.34",
            "GLIBC_2.2.5",
            "GCC_4.2.0",
        ]));
        assert_eq!(found.unwrap().to_string(), "2.34");
    }

    #[test]
    fn a_newer_glibc_than_allowed_is_rejected() {
        let max = GlibcVersion {
            major: 2,
            minor: 34,
        };
        assert!(needed_at_most(&elf(&["GLIBC_2.34"]), max).is_ok());
        let error = needed_at_most(&elf(&["GLIBC_2.4", "GLIBC_2.35"]), max).unwrap_err();
        assert!(error.to_string().contains("needs glibc 2.35"), "{error}");
        let next = GlibcVersion { major: 3, minor: 0 };
        assert!(next > max);
    }

    #[test]
    fn the_version_of_a_real_binary_is_found() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let found = needed(&own).unwrap();
        assert!(found >= GlibcVersion { major: 2, minor: 2 }, "{found}");
    }

    #[test]
    fn damaged_files_are_rejected() {
        let whole = elf(&["GLIBC_2.34", "GLIBC_2.2.5"]);
        // The last 24 bytes are fields of a section header that are not read.
        for length in 0..whole.len() - 24 {
            assert!(needed(&whole[..length]).is_err(), "{length}");
        }
        assert!(needed(&elf(&["GCC_3.0"])).is_err());
        assert!(needed(b"#!/bin/sh\n").is_err());
    }
}
