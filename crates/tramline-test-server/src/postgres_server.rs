//! A real PostgreSQL server for tests, in a directory of its own.
//!
//! A database directory takes two seconds to make, so the first one is kept as a template in the system's temporary
//! directory and copied. As root the server runs as the user `postgres`, because it refuses to run as root.

use anyhow::{Context, Result, bail};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where Debian keeps its versions, newest first when sorted.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The role that owns everything, without a password.
const ROLE: &str = "tram";

/// How long the server may take to start or stop, in seconds.
const START_S: &str = "60";

/// A running server, stopped when dropped.
pub struct PostgresServer {
    dir: PathBuf,
    bin: PathBuf,
    /// Its port on loopback.
    pub port: u16,
}

impl PostgresServer {
    /// Starts a server in a new directory.
    pub fn start() -> Result<Self> {
        let bin = programs()?;
        let template = template(&bin)?;
        let dir = new_dir("tramline-pg")?;
        let data = dir.join("data");
        run(Command::new("cp").arg("-a").arg(&template).arg(&data))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let settings = format!(
            "\nport={port}\nlisten_addresses='127.0.0.1'\nunix_socket_directories='{}'\nmax_connections=200\n",
            dir.display()
        );
        let file = data.join("postgresql.auto.conf");
        fs::write(&file, settings)?;
        owned_by_postgres(&dir)?;
        let server = Self { dir, bin, port };
        server.resume()?;
        Ok(server)
    }

    /// The address of a new database.
    pub fn database(&self, name: &str) -> Result<String> {
        self.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        Ok(self.url(name))
    }

    /// The address of a database.
    pub fn url(&self, name: &str) -> String {
        format!("postgres://{ROLE}@127.0.0.1:{}/{name}", self.port)
    }

    /// Executes a statement and returns what it prints, without headings.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String> {
        let mut command = Command::new(self.bin.join("psql"));
        command
            .args([
                "-X",
                "-q",
                "-t",
                "-A",
                "-v",
                "ON_ERROR_STOP=1",
                "-h",
                "127.0.0.1",
            ])
            .args([
                "-p",
                &self.port.to_string(),
                "-U",
                ROLE,
                "-d",
                database,
                "-c",
                sql,
            ]);
        let output = command.output().context("psql")?;
        if !output.status.success() {
            bail!("{sql}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Starts the server again after a stop or a crash.
    pub fn resume(&self) -> Result<()> {
        self.pg_ctl(&["-l", &self.dir.join("log").to_string_lossy(), "start"])
    }

    /// Restarts it, cutting every session.
    pub fn restart(&self) -> Result<()> {
        self.stop("fast")?;
        self.resume()
    }

    /// Stops it: `fast` cuts sessions, `immediate` is a crash.
    pub fn stop(&self, mode: &str) -> Result<()> {
        self.pg_ctl(&["-m", mode, "stop"])
    }

    /// The process of the server, to stop and continue it.
    pub fn pid(&self) -> Result<i32> {
        let file = fs::read_to_string(self.dir.join("data/postmaster.pid"))?;
        Ok(file.lines().next().unwrap_or_default().trim().parse()?)
    }

    /// Cuts every session.
    pub fn cut_sessions(&self) -> Result<()> {
        self.sql(
            "postgres",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
             AND backend_type = 'client backend'",
        )
        .map(drop)
    }

    fn pg_ctl(&self, args: &[&str]) -> Result<()> {
        let mut command = as_postgres(self.bin.join("pg_ctl"));
        command.arg("-D").arg(self.dir.join("data"));
        run(command.args(["-s", "-w", "-t", START_S]).args(args))
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let _ = self.stop("immediate");
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Whether a server is installed.
pub fn is_installed() -> bool {
    programs().is_ok()
}

/// The directory with the server's programs.
fn programs() -> Result<PathBuf> {
    let mut versions: Vec<_> = fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    versions.sort();
    if let Some(newest) = versions.pop() {
        return Ok(newest);
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&paths).filter(|dir| dir.join("initdb").exists());
    found.next().context(
        "there is no PostgreSQL server: `cargo xtask setup` installs it, or install the package `postgresql`",
    )
}

/// A database directory to copy, made once for each version.
fn template(bin: &Path) -> Result<PathBuf> {
    let version = output(Command::new(bin.join("initdb")).arg("--version"))?;
    let number: String = version
        .chars()
        .filter(|letter| letter.is_ascii_digit() || *letter == '.')
        .collect();
    let user = nix::unistd::geteuid();
    let place = std::env::temp_dir().join(format!("tramline-pg-template-{number}-{user}"));
    if place.exists() {
        return Ok(place);
    }
    let dir = new_dir("tramline-pg-new")?;
    owned_by_postgres(&dir)?;
    let data = dir.join("data");
    let mut command = as_postgres(bin.join("initdb"));
    command.arg("-D").arg(&data);
    run(command.args(["-A", "trust", "-U", ROLE, "--no-locale", "-E", "UTF8", "-N"]))?;
    // Another test may have been faster; both are the same.
    let _ = fs::rename(&data, &place);
    let _ = fs::remove_dir_all(&dir);
    Ok(place)
}

fn new_dir(name: &str) -> Result<PathBuf> {
    let place = std::env::temp_dir();
    for n in 0.. {
        let dir = place.join(format!("{name}-{}-{n}", std::process::id()));
        match fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    bail!("no directory in {}", place.display())
}

/// Gives a directory to the user that the server runs as, if we are root.
fn owned_by_postgres(dir: &Path) -> Result<()> {
    match nix::unistd::geteuid().is_root() {
        true => run(Command::new("chown").args(["-R", "postgres"]).arg(dir)),
        false => Ok(()),
    }
}

/// A command of the user that the server runs as.
fn as_postgres(program: PathBuf) -> Command {
    if !nix::unistd::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    command.arg(program).current_dir("/");
    command
}

fn run(command: &mut Command) -> Result<()> {
    // The server inherits its output: a pipe would never end.
    let errors = tempfile_for_errors()?;
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors.1)
        .status()
        .with_context(|| format!("{command:?}"))?;
    let said = fs::read_to_string(&errors.0).unwrap_or_default();
    let _ = fs::remove_file(&errors.0);
    match status.success() {
        true => Ok(()),
        false => bail!("{command:?}: {status}: {said}"),
    }
}

fn tempfile_for_errors() -> Result<(PathBuf, fs::File)> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("tramline-pg-{}-{n}.err", std::process::id()));
    let file = fs::File::create(&path)?;
    Ok((path, file))
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
