//! `tramline studio`: documents, runs and questions in a browser, served by this process alone.

use super::serve::{self, Opened, Place, Serve};
use super::trust::Trusting;
use super::{Common, Done, Reach, output};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tramline_mcp::server::Toolset;
use tramline_web::FurtherAddress;

/// Open documents, runs and questions in a browser.
#[derive(clap::Args)]
pub(super) struct Studio {
    /// The documents to look at and change
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Serve at this address [default: a free port of this machine alone]
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// What callers must show beside the studio's own key; needed beyond loopback
    #[arg(
        long,
        env = "TRAMLINE_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    token: Option<String>,
    /// Open the page in the browser, also where nobody seems to look
    #[arg(long)]
    open: bool,
    /// Only print where the page is
    #[arg(long, conflicts_with = "open")]
    no_open: bool,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    reach: Reach,
}

pub(super) async fn main(common: Common, verb: Studio) -> Done {
    let json = common.json;
    let browser = verb.open || (!verb.no_open && is_looked_at());
    let serve = Serve {
        files: verb.files,
        http: Some(verb.http.unwrap_or((Ipv4Addr::LOCALHOST, 0).into())),
        token: verb.token,
        token_file: None,
        sops: Vec::new(),
        free: Vec::new(),
        toolsets: vec![Toolset::Graphs],
        library: true,
        no_reload: false,
        reload_servers: false,
        metrics: false,
        reach: verb.reach,
    };
    let opened = move |place: &Place| {
        let Place { url, own } = place;
        match json {
            true => {
                let told = serde_json::json!({"status": "serving", "url": url, "own_url": own});
                output::line(&told);
            }
            false => output::text_line(&format!("the studio is at {own}")),
        }
        if browser {
            open(own);
        }
    };
    let opened = Opened {
        tell: Box::new(opened),
        trusting: verb.trusting,
        further: Some(further(json)),
    };
    serve::serving(common, serve, Some(opened)).await
}

/// How the operator gets another address: programs and logs get the first one only.
fn further(json: bool) -> FurtherAddress {
    if json || !output::is_terminal() {
        return FurtherAddress::Unavailable("start `tramline studio` again, at a terminal");
    }
    let print = |address: &str| output::text_line(&format!("the studio is at {address}"));
    FurtherAddress::Printed(Box::new(print))
}

/// Whether somebody sits before this process with a browser at hand.
fn is_looked_at() -> bool {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let desktop =
        cfg!(any(target_os = "macos", windows)) || has("DISPLAY") || has("WAYLAND_DISPLAY");
    desktop && !has("SSH_CONNECTION") && output::is_terminal()
}

/// Opens a page in the browser. Where that fails, the address is on the terminal.
fn open(url: &str) {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let begun = Command::new(program)
        .args(before)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if begun.is_err() {
        output::say("no browser could be opened");
    }
}
