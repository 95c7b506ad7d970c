//! A server over HTTP that is killed when its benchmark ends.

use crate::bench_env::{BenchEnv, KillTimer};
use crate::echo;
use crate::storm::{kill_server, listening};
use anyhow::{Context, Result, ensure};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Seconds until a server must listen.
const START_S_MAX: u64 = 60;

/// A listening server.
pub(crate) struct HttpServerProcess {
    child: Child,
    pub(crate) address: SocketAddr,
    _watch: KillTimer,
}

impl HttpServerProcess {
    /// Starts a server that prints its address in its first line on standard output.
    pub(crate) fn address_on_stdout(mut command: Command) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Self::wait_for_address(child, |child| {
            listening(child.stdout.take().context("standard output")?)
        })
    }

    /// Starts a server that prints its address on standard error.
    pub(crate) fn address_on_stderr(mut command: Command) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        Self::wait_for_address(child, |child| {
            listening(child.stderr.take().context("standard error")?)
        })
    }

    /// Starts a server at a given address.
    pub(crate) fn at_address(mut command: Command, address: SocketAddr) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Self::wait_for_address(child, |_| Ok(address))
    }

    fn wait_for_address(
        mut child: Child,
        place: impl FnOnce(&mut Child) -> Result<SocketAddr>,
    ) -> Result<Self> {
        let watch = KillTimer::over(child.id());
        let address = place(&mut child);
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut served = Self {
            child,
            address: *address.as_ref().unwrap_or(&nowhere),
            _watch: watch,
        };
        // From here on it is killed in any case.
        address?;
        served.ready()?;
        Ok(served)
    }

    /// Waits until it accepts connections.
    fn ready(&mut self) -> Result<()> {
        let began = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            let runs = self.child.try_wait()?.is_none();
            let early = began.elapsed() < Duration::from_secs(START_S_MAX);
            ensure!(runs && early, "the server does not listen");
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Drop for HttpServerProcess {
    fn drop(&mut self) {
        kill_server(&mut self.child);
    }
}

/// A compiled proxy in front of the bare server, on a port that was free a moment ago.
pub(crate) fn proxy(place: &BenchEnv) -> Result<HttpServerProcess> {
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
    HttpServerProcess::at_address(command, address)
}
