//! How the whole server misbehaves, from the command line.

/// The modes; with all of them off the server behaves well.
#[derive(Clone, Default)]
pub(crate) struct ServerModes {
    /// Print to stderr and exit with 7.
    pub(crate) exit_at_start: bool,
    /// Never answer `initialize` or `server/discover`.
    pub(crate) never_initialize: bool,
    /// Announce a changed tool list after the first listing, then list one tool more.
    pub(crate) list_changed: bool,
    /// Milliseconds to wait before reading the first message.
    pub(crate) slow_start_ms: u64,
    /// Reject `initialize`: only the handshake of 2026-07-28 is supported.
    pub(crate) modern_only: bool,
    /// Answer neither `server/discover` nor any other unknown request.
    pub(crate) ignore_unknown: bool,
    /// Tools per page; 0 lists all at once.
    pub(crate) page_tools: usize,
    /// Stay alive after stdin has ended.
    pub(crate) ignore_eof: bool,
    /// Start a child process and leave it behind.
    pub(crate) grandchild: bool,
    /// Start a child process in its own session and leave it behind.
    pub(crate) setsid_child: bool,
    /// Offer the malicious tools.
    pub(crate) hostile: bool,
    /// Put the given secret into the tool descriptions.
    pub(crate) reveal_secret: bool,
    /// Number of extra tools to list.
    pub(crate) tools: usize,
    /// Announce another page after every page of tools.
    pub(crate) endless_pages: bool,
}

impl ServerModes {
    /// Reads the modes from the arguments.
    pub(crate) fn read(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut modes = Self::default();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--exit-at-start" => modes.exit_at_start = true,
                "--never-initialize" => modes.never_initialize = true,
                "--list-changed" => modes.list_changed = true,
                "--modern-only" => modes.modern_only = true,
                "--ignore-unknown" => modes.ignore_unknown = true,
                "--ignore-eof" => modes.ignore_eof = true,
                "--grandchild" => modes.grandchild = true,
                "--setsid-child" => modes.setsid_child = true,
                "--hostile" => modes.hostile = true,
                "--tell-secret" => modes.reveal_secret = true,
                "--endless-pages" => modes.endless_pages = true,
                "--tools" => modes.tools = number(&arg, args.next())? as usize,
                "--slow-start" => modes.slow_start_ms = number(&arg, args.next())?,
                "--pages" => modes.page_tools = number(&arg, args.next())? as usize,
                _ => return Err(format!("unknown argument {arg}")),
            }
        }
        Ok(modes)
    }
}

fn number(name: &str, text: Option<String>) -> Result<u64, String> {
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| format!("{name} needs a number"))
}
