//! Who may call over HTTP: tokens from the environment, a flag and a file, with warnings about
//! unsafe ones.

use super::super::{CliError, output};
use super::Serve;
use crate::config::read_tokens;
use std::ffi::OsString;
use std::path::Path;
use tramline_engine::Settings;
use tramline_mcp_server::HttpOptions;

/// Where to serve over HTTP, and who may call. A local studio requires its key even on this
/// machine.
pub(super) fn http_options(verb: &Serve, is_studio: bool) -> Result<Option<HttpOptions>, CliError> {
    let Some(address) = verb.http else {
        return Ok(None);
    };
    let token = non_blank_token(verb.token.as_deref());
    if token.is_some() && is_on_command_line(std::env::args_os()) {
        output::print_warning(
            "other users of this machine can read `--token` in the list of processes; use TRAMLINE_TOKEN or --token-file",
        );
    }
    let named = match &verb.token_file {
        None => Vec::new(),
        Some(path) => {
            let named = read_tokens(path).map_err(CliError::bad_input)?;
            warn_if_shared(path, "the token file");
            named
        }
    };
    let http = HttpOptions {
        token,
        named_tokens: named,
        requires_token: is_studio,
        ..HttpOptions::at(address)
    };
    let http = http.with_studio_key();
    http.map(Some)
        .map_err(|fault| CliError::bad_input(fault.to_string()))
}

/// The token, unless it is blank. A blank one is ignored with a warning: an unset variable looks
/// like this.
fn non_blank_token(token: Option<&str>) -> Option<String> {
    let token = token?.trim();
    if token.is_empty() {
        output::print_warning(
            "the token is blank, so there is none: set TRAMLINE_TOKEN to a secret, or unset it",
        );
        return None;
    }
    Some(token.to_owned())
}

/// Whether the token is given as a flag, where every user of the machine can see it.
fn is_on_command_line(mut words: impl Iterator<Item = OsString>) -> bool {
    words.any(|word| {
        let word = word.to_string_lossy();
        word == "--token" || word.starts_with("--token=")
    })
}

/// Redacts the tokens: they are secrets too.
pub(super) fn hide_tokens(settings: &Settings, http: Option<&HttpOptions>) -> Result<(), CliError> {
    if let Some(http) = http {
        for named in &http.named_tokens {
            settings.redact_also(&format!("token:{}", named.name), &named.token)?;
        }
        if let Some(token) = &http.token {
            settings.redact_also("token", token)?;
        }
        if let Some(key) = &http.studio_key {
            settings.redact_also("studio-key", key)?;
        }
    }
    Ok(())
}

/// Warns if other users of the machine can read or change a file or directory.
pub(super) fn warn_if_shared(path: &Path, what: &str) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let Ok(about) = std::fs::metadata(path) else {
            return;
        };
        if let Some(can) = others_access(about.permissions().mode()) {
            let (shown, only) = (path.display(), if about.is_dir() { "700" } else { "600" });
            output::print_warning(&format!(
                "other users of this machine can {can} {what} {shown}; run `chmod {only} {shown}`"
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = (path, what);
}

/// What users other than the owner can do with a file of this mode.
#[cfg(unix)]
fn others_access(mode: u32) -> Option<&'static str> {
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
            assert_eq!(non_blank_token(blank), None);
        }
        assert_eq!(non_blank_token(Some(" a b\n")).as_deref(), Some("a b"));
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
        assert_eq!(others_access(0o100_600), None);
        assert_eq!(others_access(0o040_700), None);
        assert_eq!(others_access(0o100_644), Some("read"));
        assert_eq!(others_access(0o100_640), Some("read"));
        assert_eq!(others_access(0o040_777), Some("change"));
        assert_eq!(others_access(0o100_620), Some("change"));
    }
}
