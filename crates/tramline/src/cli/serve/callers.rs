//! Who may call over HTTP: tokens from the environment, a flag and a file, and what about them deserves
//! a warning.

use super::super::{Stopped, output};
use super::Serve;
use crate::config::read_tokens;
use std::ffi::OsString;
use std::path::Path;
use tramline_engine::Settings;
use tramline_mcp::server::Http;

/// Where to serve over HTTP, and who may call. A studio of one's own is for who has its key, on this
/// machine too.
pub(super) fn callers(verb: &Serve, is_studio: bool) -> Result<Option<Http>, Stopped> {
    let Some(address) = verb.http else {
        return Ok(None);
    };
    let token = usable(verb.token.as_deref());
    if token.is_some() && is_on_command_line(std::env::args_os()) {
        output::warn(
            "other users of this machine can read `--token` in the list of processes; use TRAMLINE_TOKEN or --token-file",
        );
    }
    let named = match &verb.token_file {
        None => Vec::new(),
        Some(path) => {
            let named = read_tokens(path).map_err(Stopped::bad)?;
            warn_if_shared(path, "the token file");
            named
        }
    };
    let http = Http {
        token,
        named,
        closed: is_studio,
        ..Http::at(address)
    };
    let http = http.with_studio_key();
    http.map(Some)
        .map_err(|fault| Stopped::bad(fault.to_string()))
}

/// A token that is more than space. Others are taken for none, and that is said: an unset variable
/// looks like this.
fn usable(token: Option<&str>) -> Option<String> {
    let token = token?.trim();
    if token.is_empty() {
        output::warn(
            "the token is blank, so there is none: set TRAMLINE_TOKEN to a secret, or unset it",
        );
        return None;
    }
    Some(token.to_owned())
}

/// Whether a token is given by flag, where every user of the machine sees it.
fn is_on_command_line(mut words: impl Iterator<Item = OsString>) -> bool {
    words.any(|word| {
        let word = word.to_string_lossy();
        word == "--token" || word.starts_with("--token=")
    })
}

/// Tokens are secrets too.
pub(super) fn hide_tokens(settings: &Settings, http: Option<&Http>) -> Result<(), Stopped> {
    if let Some(http) = http {
        for named in &http.named {
            settings.also_hide(&format!("token:{}", named.name), &named.token)?;
        }
        if let Some(token) = &http.token {
            settings.also_hide("token", token)?;
        }
        if let Some(key) = &http.studio {
            settings.also_hide("studio-key", key)?;
        }
    }
    Ok(())
}

/// Warns of a file or directory that other users of the machine can read or change.
pub(super) fn warn_if_shared(path: &Path, what: &str) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let Ok(about) = std::fs::metadata(path) else {
            return;
        };
        if let Some(can) = shared_to(about.permissions().mode()) {
            let (shown, only) = (path.display(), if about.is_dir() { "700" } else { "600" });
            output::warn(&format!(
                "other users of this machine can {can} {what} {shown}; run `chmod {only} {shown}`"
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = (path, what);
}

/// What others than its owner can do with a file of this mode.
#[cfg(unix)]
fn shared_to(mode: u32) -> Option<&'static str> {
    match (mode & 0o022 != 0, mode & 0o055 != 0) {
        (true, _) => Some("change"),
        (false, true) => Some("read"),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_token_is_none() {
        for blank in [None, Some(""), Some(" "), Some("\t\r\n ")] {
            assert_eq!(usable(blank), None);
        }
        assert_eq!(usable(Some(" a b\n")).as_deref(), Some("a b"));
    }

    #[test]
    fn a_token_on_the_command_line_is_found() {
        let given = |words: &[&str]| is_on_command_line(words.iter().map(OsString::from));
        assert!(given(&["tramline", "serve", "--token", "x"]));
        assert!(given(&["tramline", "serve", "--token=x"]));
        assert!(!given(&["tramline", "serve", "--token-file", "x"]));
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_do_is_told_by_the_mode() {
        assert_eq!(shared_to(0o100_600), None);
        assert_eq!(shared_to(0o040_700), None);
        assert_eq!(shared_to(0o100_644), Some("read"));
        assert_eq!(shared_to(0o100_640), Some("read"));
        assert_eq!(shared_to(0o040_777), Some("change"));
        assert_eq!(shared_to(0o100_620), Some("change"));
    }
}
