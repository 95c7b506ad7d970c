//! Many clients at once over HTTP.

use crate::place::Place;
use crate::storm::{CLIENTS, end, listening, storm};
use crate::table::{Against, Aim, Contender, Figure, Kind, side_by_side};
use crate::{Workload, document, echo, ours};
use anyhow::Result;
use serde_json::Value;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "64 concurrent HTTP clients",
    says: "Each client calls a tool that adds one as fast as it is answered, over a connection of its own, in the protocol of \
           2026-07-28. Each call of ours is a durable run of a graph; the others keep nothing. The limit is a server that \
           always gives the same answer.",
    measure,
};

const SCRIPTED: Aim = Aim {
    says: "at least 10x any scripted peer",
    against: Against::Best(Kind::Scripted),
    times: 10.0,
};
const NATIVE: Aim = Aim {
    says: "ahead of the compiled ones",
    against: Against::Best(Kind::Native),
    times: 1.0,
};
const LOWER: Aim = Aim {
    says: "lower than every peer",
    against: Against::Peers,
    times: 1.0,
};

fn measure(place: &Place) -> Result<Vec<Value>> {
    let document = document(place)?;
    let calls = place.pick(30, 150);
    let names = [
        Figure::more(
            format!("calls, {CLIENTS} clients"),
            "/s",
            &[SCRIPTED, NATIVE],
        ),
        Figure::less("half of them within", "ms", &[]),
        Figure::less("99 of 100 within", "ms", &[LOWER]),
    ];
    let said_out = |command: Command, tool: &'static str, calls: usize| {
        let mut command = command;
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        stormed(command, tool, calls, |child| {
            child.stdout.take().map(|said| Box::new(said) as _)
        })
    };
    let all = vec![
        Contender::new("Tramline", Kind::Ours, || {
            let mut command = ours(place, &document)?;
            command
                .args(["--http", "127.0.0.1:0"])
                .stderr(Stdio::piped());
            stormed(command, "transforms_1", calls, |child| {
                child.stderr.take().map(|said| Box::new(said) as _)
            })
        }),
        Contender::new("fastmcp", Kind::Scripted, || {
            let mut command = place.python("fastmcp", "fastmcp_tool.py")?;
            command.arg("http");
            said_out(command, "transforms_1", calls.min(50))
        }),
        Contender::new("mcp-proxy", Kind::Native, || {
            let (command, address) = proxy(place)?;
            let mut child = quiet(command)?;
            let found =
                ready(&mut child, address).and_then(|()| storm(address, "bench/echo", calls));
            end(child);
            found.map(|storm| vec![storm.rate, storm.half, storm.most])
        }),
        Contender::cannot("mcpgraph", Kind::Scripted, "serves standard streams only"),
        Contender::cannot("pflow", Kind::Scripted, "serves standard streams only"),
        Contender::cannot("mcp-hub", Kind::Native, "serves standard streams only"),
        Contender::cannot("mcp-agent", Kind::Scripted, "not tried"),
        Contender::cannot("langgraph", Kind::Scripted, "is no MCP server"),
        Contender::cannot("dbos", Kind::Scripted, "is no MCP server"),
        Contender::cannot("stepflow", Kind::Native, "is no MCP server"),
        Contender::new("a bare server", Kind::Limit, || {
            let mut command = Command::new(&place.echo);
            command.arg(echo::HTTP);
            said_out(command, "transforms_1", calls)
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 5)))
}

fn stormed(
    command: Command,
    tool: &'static str,
    calls: usize,
    said: impl FnOnce(&mut Child) -> Option<Box<dyn Read>>,
) -> Result<Vec<f64>> {
    let (mut child, address) = listening(command, said)?;
    let found = ready(&mut child, address).and_then(|()| storm(address, tool, calls));
    end(child);
    found.map(|storm| vec![storm.rate, storm.half, storm.most])
}

/// A compiled proxy before the bare server, at a port that was free a moment ago.
fn proxy(place: &Place) -> Result<(Command, SocketAddr)> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let config = place.dir.path().join("proxy.toml");
    let text = format!(
        "[proxy]\nname = \"bench\"\nseparator = \"/\"\n\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {}\n\n\
         [[backends]]\nname = \"bench\"\ntransport = \"stdio\"\ncommand = {:?}\nargs = [{:?}]\n",
        address.port(),
        place.echo.display().to_string(),
        echo::STDIO
    );
    std::fs::write(&config, text)?;
    let mut command = Command::new(place.cargo("mcp-proxy")?);
    command.arg("--config").arg(config);
    Ok((command, address))
}

fn quiet(mut command: Command) -> Result<Child> {
    Ok(command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?)
}

/// Waits until a server takes connections.
fn ready(child: &mut Child, address: SocketAddr) -> Result<()> {
    let began = Instant::now();
    while TcpStream::connect(address).is_err() {
        anyhow::ensure!(
            child.try_wait()?.is_none() && began.elapsed() < Duration::from_secs(30),
            "it does not listen"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
