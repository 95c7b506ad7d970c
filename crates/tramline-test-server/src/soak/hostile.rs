//! The hostile soak: malicious servers, documents, web pages, clients and agents against the real
//! program with little memory and few descriptors, while normal calls must be answered.
//!
//! All traffic stays on loopback, and every attack is limited in count and time.

use super::seeded_rng::SeededRng;
use anyhow::{Context, Result};
use attack::Attack;
use evil_http::EvilHttp;
use fixture::SoakFixture;
use http::{HttpReply, HttpRequest};
use serde_json::{Value, json};
use server_under_test::ServerUnderTest;
use std::collections::{BTreeMap, HashSet};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use witness::{ViolationKind, Witness};

mod aftermath;
mod attack;
mod evil_http;
mod fixture;
mod http;
mod meter;
mod report;
mod server_under_test;
mod supervision;
mod witness;

pub use report::HostileReport;
pub use witness::{Violation, ViolationKind as WrongKind};

/// Number of concurrent attacks.
const ATTACKERS: u64 = 4;

/// The first round of all attacks is completed even if the time is over, but takes no longer than
/// this.
const ROUND_MAX: Duration = Duration::from_secs(10 * 60);

/// Event streams that are left open at a time.
const LEFT_OPEN_MAX: usize = 16;

/// What to attack, and for how long.
#[derive(Clone, Debug)]
pub struct HostileSettings {
    /// The program under attack.
    pub tramline: PathBuf,
    /// The misbehaving server.
    pub unruly: PathBuf,
    /// The working directory.
    pub dir: PathBuf,
    /// How long the attacks last; all of them are made at least once.
    pub time: Duration,
    /// The seed of the random choices.
    pub seed: u64,
    /// Attacks of a size suitable for tests.
    pub is_small: bool,
    /// Only attacks whose kind contains this text.
    pub only: Option<String>,
    /// Receives progress messages.
    pub on_progress: fn(&str),
}

/// State shared by all threads.
struct HostileContext {
    settings: HostileSettings,
    world: SoakFixture,
    witness: Witness,
    /// Without a token, and never killed: its memory shows growth.
    open: ServerUnderTest,
    /// With named callers, killed repeatedly on the same data directory.
    named: ServerUnderTest,
    /// The studio, on its own data directory.
    studio: ServerUnderTest,
    /// With a pinned procedure.
    pinned: ServerUnderTest,
    begun: Instant,
    is_stopped: AtomicBool,
    counters: Mutex<SoakCounters>,
    /// Held by an attack that uses very many connections: one at a time.
    exclusive: Mutex<()>,
    left_open: Mutex<Vec<TcpStream>>,
    approved: Mutex<HashSet<String>>,
    rounds_begun: AtomicU64,
}

/// Counters beside the attacks.
#[derive(Default)]
struct SoakCounters {
    calls: u64,
    slowest: Duration,
    kills: u64,
    terms: u64,
    slowest_term: Duration,
    cut_short: u64,
    left_behind: u64,
    meters: BTreeMap<&'static str, meter::UsageMeter>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HostileContext {
    fn subjects(&self) -> [&ServerUnderTest; 4] {
        [&self.open, &self.named, &self.studio, &self.pinned]
    }

    fn counters(&self) -> MutexGuard<'_, SoakCounters> {
        locked(&self.counters)
    }

    /// Number of completed rounds of all attacks.
    fn rounds(&self) -> u64 {
        let begun = self.rounds_begun.load(Ordering::SeqCst);
        begun.saturating_sub(1)
    }

    fn is_over(&self) -> bool {
        let is_late = self.begun.elapsed() > self.settings.time;
        let is_enough = is_late && self.rounds() > 0;
        is_enough || self.begun.elapsed() > self.settings.time + ROUND_MAX
    }

    /// Waits.
    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }

    /// Makes a request and searches the reply for secrets.
    fn send(
        &self,
        subject: &ServerUnderTest,
        request: &HttpRequest,
        wait: Duration,
    ) -> Result<HttpReply> {
        let address = subject.address().context("the server is being restarted")?;
        let reply = request.send(address, wait)?;
        let place = format!("a reply of {}", subject.name);
        self.witness
            .search_output(&place, reply.head.as_bytes(), &[]);
        self.witness.search_output(&place, &reply.body, &[]);
        Ok(reply)
    }

    fn get(
        &self,
        on: &ServerUnderTest,
        token: Option<&str>,
        path: &str,
        wait: Duration,
    ) -> Result<HttpReply> {
        self.send(on, &HttpRequest::new("GET", path).bearer(token), wait)
    }

    fn call(
        &self,
        on: &ServerUnderTest,
        token: Option<&str>,
        tool: &str,
        arguments: &Value,
        wait: Duration,
    ) -> Result<HttpReply> {
        let request = HttpRequest::call(tool, arguments).bearer(token);
        self.send(on, &request, wait)
    }

    /// Holds off other attacks that use very many connections or much time.
    fn exclusive(&self) -> MutexGuard<'_, ()> {
        locked(&self.exclusive)
    }

    /// Keeps a connection open until many others have been opened after it.
    fn leave_open(&self, stream: TcpStream) {
        let mut left = locked(&self.left_open);
        if left.len() >= LEFT_OPEN_MAX {
            left.remove(0);
        }
        left.push(stream);
    }

    /// Records that a person approved a run.
    fn record_approval(&self, run: &str) {
        locked(&self.approved).insert(run.to_owned());
    }

    /// Aborts a run that was left waiting, found by its id in the text.
    fn abort_run_in(&self, text: &str) {
        let Some(at) = text.find("run_") else {
            return;
        };
        let rest = text.get(at..).unwrap_or_default();
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let run = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let path = format!("/api/runs/{run}/abort");
        let request = HttpRequest::json("POST", &path, &json!({"why": "the attack is over"}));
        let _ = self.send(&self.open, &request, Duration::from_secs(2));
    }

    /// Aborts all open runs.
    fn abort_open_runs(&self) {
        let path = "/api/runs?status=running,paused&most=50";
        let Ok(listed) = self.get(&self.open, None, path, Duration::from_secs(3)) else {
            return;
        };
        for run in listed.json()["runs"].as_array().into_iter().flatten() {
            self.abort_run_in(run["run_id"].as_str().unwrap_or_default());
        }
    }

    /// Counts the guarded files that were changed.
    fn check_files(&self) -> usize {
        let changed = self.world.changed();
        for path in &changed {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let what = format!("{name} was changed");
            self.witness
                .record_violation(ViolationKind::Intrusion, what);
        }
        if self.world.canary().exists() {
            let what = "a command of a hostile document was started";
            self.witness
                .record_violation(ViolationKind::Intrusion, what);
            let _ = std::fs::remove_file(self.world.canary());
        }
        changed.len()
    }
}

/// Runs the soak; violations are in the report.
pub fn hostile(settings: &HostileSettings) -> Result<HostileReport> {
    for program in [&settings.tramline, &settings.unruly] {
        anyhow::ensure!(
            program.is_file(),
            "{} does not exist: build it first",
            program.display()
        );
    }
    let evil = EvilHttp::start()?;
    let arena = prepare(settings, &evil)?;
    for subject in arena.subjects() {
        subject.start()?;
    }
    arena.normal_call()?;
    arena.meter(true);
    let mut attacks = attack::all();
    if let Some(only) = &settings.only {
        attacks.retain(|attack| attack.kind.contains(only.as_str()));
    }
    std::thread::scope(|scope| {
        scope.spawn(|| supervision::sample(&arena));
        scope.spawn(|| supervision::kill(&arena, SeededRng::new(settings.seed ^ 1)));
        for subject in [&arena.open, &arena.named] {
            let arena = &arena;
            scope.spawn(move || supervision::call_normally(arena, subject));
        }
        let queue = Mutex::new(Vec::new());
        std::thread::scope(|inner| {
            for number in 0..ATTACKERS {
                let (arena, attacks, queue) = (&arena, &attacks, &queue);
                let chance = SeededRng::new(settings.seed.wrapping_add(number * 7919));
                inner.spawn(move || attack_loop(arena, attacks, queue, chance));
            }
        });
        supervision::settle(&arena);
        arena.is_stopped.store(true, Ordering::SeqCst);
    });
    aftermath::check(&arena)?;
    Ok(arena.report())
}

/// Makes one attack after the other, in rounds of all of them.
fn attack_loop(
    arena: &HostileContext,
    all: &[Attack],
    queue: &Mutex<Vec<Attack>>,
    mut chance: SeededRng,
) {
    while !arena.is_over() {
        let next = {
            let mut queue = locked(queue);
            if queue.is_empty() {
                queue.extend(shuffled(all, &mut chance));
                arena.rounds_begun.fetch_add(1, Ordering::SeqCst);
            }
            queue.pop()
        };
        if let Some(attack) = next {
            let number = arena.witness.attack_started(attack.kind);
            let outcome = (attack.run)(arena, &mut chance).unwrap_or("no answer");
            arena.witness.attack_ended(number, outcome);
            arena.check_files();
        }
    }
}

fn shuffled(all: &[Attack], chance: &mut SeededRng) -> Vec<Attack> {
    let mut order = all.to_vec();
    for last in (1..order.len()).rev() {
        let other = chance.between(0, last as u64) as usize;
        order.swap(last, other);
    }
    order
}

fn prepare(settings: &HostileSettings, evil: &EvilHttp) -> Result<HostileContext> {
    let mut chance = SeededRng::new(settings.seed);
    let world = SoakFixture::create(
        &settings.dir,
        &settings.tramline,
        &settings.unruly,
        evil.address,
        settings.is_small,
        &mut chance,
    )?;
    let key = std::fs::read_to_string(world.data().join("settings.key"))?;
    let secrets = [
        ("the setting TOKEN", world.secret.as_str()),
        ("the key", key.trim()),
        ("ann's token", &world.ann),
        ("bob's token", &world.bob),
        ("boss's token", &world.boss),
    ];
    let witness = Witness::new(&secrets, settings.on_progress);
    let path = |name: &str| world.path(name).display().to_string();
    let (work, data, logs) = (path("work"), path("work/data"), world.path("logs"));
    let config = path("work/tramline.yaml");
    let reach = ["--data-dir", &data, "--root", &work, "--config", &config];
    let serve = |name, first: &[&str], more: &[&str]| {
        let all = [first, &reach, more].concat();
        ServerUnderTest::new(name, world.tramline.clone(), logs.clone(), &all)
    };
    let (servers, few) = (path("work/mcp.json"), path("work/few.json"));
    let (graphs, tokens, procedure) = (
        path("work/graphs.yaml"),
        path("work/tokens.txt"),
        path("work/procedure.md"),
    );
    let sets = [
        "--toolsets",
        "graphs,library,control,debug",
        "--mcp-config",
        &servers,
    ];
    let guarded = [
        "--toolsets",
        "library,control,sop",
        "--mcp-config",
        &few,
        "--sop",
        &procedure,
        "--token-file",
        &tokens,
    ];
    Ok(HostileContext {
        open: serve("open", &["serve", &graphs], &sets),
        named: serve(
            "named",
            &["serve", &graphs],
            &[&sets[..], &["--token-file", &tokens]].concat(),
        ),
        pinned: serve("pinned", &["serve"], &guarded),
        studio: ServerUnderTest::new(
            "studio",
            world.tramline.clone(),
            logs.clone(),
            &[
                "studio",
                &path("work/studio.yaml"),
                "--no-open",
                "--data-dir",
                &path("studio-data"),
            ],
        ),
        settings: settings.clone(),
        witness,
        begun: Instant::now(),
        is_stopped: AtomicBool::new(false),
        counters: Mutex::default(),
        exclusive: Mutex::default(),
        left_open: Mutex::default(),
        approved: Mutex::default(),
        rounds_begun: AtomicU64::new(0),
        world,
    })
}
