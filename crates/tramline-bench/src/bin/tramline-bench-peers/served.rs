//! A server over HTTP that ends with whoever measures it.

use crate::echo;
use crate::place::{Place, Watch};
use crate::storm::{end, listening};
use anyhow::{Context, Result, ensure};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// So long may a server take until it listens.
const START_S_MAX: u64 = 60;

/// A server that listens.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
    _watch: Watch,
}

impl Served {
    /// Starts a server that says where it listens in its first line on standard output.
    pub(crate) fn says(mut command: Command) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Self::heard(child, |child| {
            listening(child.stdout.take().context("its words")?)
        })
    }

    /// Starts a server that says so on standard error.
    pub(crate) fn says_aside(mut command: Command) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        Self::heard(child, |child| {
            listening(child.stderr.take().context("its words")?)
        })
    }

    /// Starts a server that was told where to listen.
    pub(crate) fn told(mut command: Command, address: SocketAddr) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Self::heard(child, |_| Ok(address))
    }

    fn heard(
        mut child: Child,
        place: impl FnOnce(&mut Child) -> Result<SocketAddr>,
    ) -> Result<Self> {
        let watch = Watch::over(child.id());
        let address = place(&mut child);
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut served = Self {
            child,
            address: *address.as_ref().unwrap_or(&nowhere),
            _watch: watch,
        };
        // From here on it is ended whatever happens.
        address?;
        served.ready()?;
        Ok(served)
    }

    /// Waits until it takes connections.
    fn ready(&mut self) -> Result<()> {
        let began = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            let runs = self.child.try_wait()?.is_none();
            let early = began.elapsed() < Duration::from_secs(START_S_MAX);
            ensure!(runs && early, "it does not listen");
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A compiled proxy before the bare server, at a port that was free a moment ago.
pub(crate) fn proxy(place: &Place) -> Result<Served> {
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
    Served::told(command, address)
}
