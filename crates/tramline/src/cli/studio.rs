//! `tramline studio`: documents, runs and questions in a browser, served by this process.

use super::serve::{self, Serve, StudioAddress, StudioLaunch};
use super::trust::TrustFlag;
use super::{AccessArgs, CliResult, CommonArgs, output};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tramline_mcp_server::Toolset;
use tramline_web::FurtherAddress;

/// Open documents, runs and questions in a browser.
#[derive(clap::Args)]
pub(super) struct Studio {
    /// The documents to show and edit
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Serve at this port or address: 8080, 0.0.0.0:8080 [default: a free port on loopback]
    #[arg(long, value_name = "PORT|ADDR", value_parser = serve::listen_address::parse)]
    http: Option<SocketAddr>,
    /// The token that callers must send in addition to the studio's key; required on addresses
    /// other than loopback
    #[arg(
        long,
        env = "TRAMLINE_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    token: Option<String>,
    /// Open the page in the browser, even if no one seems to be present
    #[arg(long)]
    open: bool,
    /// Only print the address
    #[arg(long, conflicts_with = "open")]
    no_open: bool,
    #[command(flatten)]
    trusting: TrustFlag,
    #[command(flatten)]
    reach: AccessArgs,
}

pub(super) async fn main(common: CommonArgs, verb: Studio) -> CliResult {
    let json = common.json;
    let browser = verb.open || (!verb.no_open && is_user_present());
    let serve = Serve {
        files: verb.files,
        graphs: Vec::new(),
        http: Some(verb.http.unwrap_or((Ipv4Addr::LOCALHOST, 0).into())),
        token: verb.token,
        token_file: None,
        sops: Vec::new(),
        free: Vec::new(),
        toolsets: vec![Toolset::Graphs],
        tool_prefix: None,
        claude_channel: false,
        call_wait: None,
        library: true,
        no_reload: false,
        reload_servers: false,
        metrics: false,
        reach: verb.reach,
    };
    let opened = move |place: &StudioAddress| {
        let StudioAddress {
            url,
            operator_url: own,
        } = place;
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
    let opened = StudioLaunch {
        print_address: Box::new(opened),
        trusting: verb.trusting,
        more_addresses: Some(more_addresses(json)),
    };
    serve::serve_documents(common, serve, Some(opened)).await
}

/// How the operator gets another address: programs and logs only get the first one.
fn more_addresses(json: bool) -> FurtherAddress {
    if json || !output::is_terminal() {
        return FurtherAddress::Unavailable("start `tramline studio` again, at a terminal");
    }
    let print = |address: &str| output::text_line(&format!("the studio is at {address}"));
    FurtherAddress::Printed(Box::new(print))
}

/// Whether a person with a browser seems to be present.
fn is_user_present() -> bool {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let desktop =
        cfg!(any(target_os = "macos", windows)) || has("DISPLAY") || has("WAYLAND_DISPLAY");
    desktop && !has("SSH_CONNECTION") && output::is_terminal()
}

/// Opens a page in the browser. If that fails, the address is on the terminal.
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
        output::status_line("cannot open a browser");
    }
}
