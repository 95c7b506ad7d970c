//! How the whole server misbehaves, as told on the command line.

/// The modes; all off is a well-behaved server.
#[derive(Clone, Default)]
pub(crate) struct Modes {
    /// Say something on stderr and exit with 7.
    pub(crate) exit_at_start: bool,
    /// Never answer `initialize` or `server/discover`.
    pub(crate) never_initialize: bool,
    /// Announce a changed tool list after the first listing, then list one tool more.
    pub(crate) list_changed: bool,
    /// Do nothing for so long before reading the first message.
    pub(crate) slow_start_ms: u64,
    /// Refuse `initialize`: only the handshake of 2026-07-28 is known.
    pub(crate) modern_only: bool,
    /// Answer neither `server/discover` nor any other unknown request.
    pub(crate) ignore_unknown: bool,
    /// List so many tools per page; 0 lists all at once.
    pub(crate) page_tools: usize,
    /// Go on living after stdin has ended.
    pub(crate) ignore_eof: bool,
    /// Start a child of its own and leave it behind.
    pub(crate) grandchild: bool,
    /// Start a child of its own in a session of its own and leave it behind.
    pub(crate) setsid_child: bool,
    /// Offer the tools that mean harm.
    pub(crate) hostile: bool,
    /// Put the secret that it was trusted with into what it says of its tools.
    pub(crate) tell_secret: bool,
    /// List so many tools more.
    pub(crate) tools: usize,
    /// Say after every page of tools that there is another one.
    pub(crate) endless_pages: bool,
}

impl Modes {
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
                "--tell-secret" => modes.tell_secret = true,
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
