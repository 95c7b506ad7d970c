//! The hostile soak: malicious servers, documents, web pages, clients and agents against the real
//! program, which has little memory and few descriptors, while normal calls must be answered.
//!
//! All traffic stays on loopback, and every attack is bounded in count and time.

use super::chance::Chance;
use anyhow::{Context, Result};
use attack::Attack;
use evil_http::EvilHttp;
use http::{Reply, Request};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use subject::Subject;
use witness::{ViolationKind, Witness};
use world::World;

mod aftermath;
mod attack;
mod evil_http;
mod http;
mod meter;
mod report;
mod subject;
mod watch;
mod witness;
mod world;

pub use report::Report;
pub use witness::{Violation, ViolationKind as WrongKind};

/// How many attacks are made at once.
const ATTACKERS: u64 = 4;

/// The first round of all attacks is completed even where the time is over; no longer than this.
const ROUND_MAX: Duration = Duration::from_secs(10 * 60);

/// How many streams of events are left open at a time.
const LEFT_OPEN_MAX: usize = 16;

/// What to soak, and for how long.
#[derive(Clone, Debug)]
pub struct HostileSettings {
    /// The program under attack.
    pub tramline: PathBuf,
    /// The server that misbehaves.
    pub unruly: PathBuf,
    /// Where everything is written.
    pub dir: PathBuf,
    /// How long the attacks go on; all of them are made at least once.
    pub time: Duration,
    /// What chance begins with.
    pub seed: u64,
    /// Attacks of a size that fits into tests.
    pub is_small: bool,
    /// Only attacks whose kind contains this.
    pub only: Option<String>,
    /// Who is told how it goes.
    pub tell: fn(&str),
}

/// What everybody shares.
struct Arena {
    settings: HostileSettings,
    world: World,
    witness: Witness,
    /// Without a token, and never killed: what it uses shows growth.
    open: Subject,
    /// With named callers, killed over and over on the same data directory.
    named: Subject,
    /// The studio, on a data directory of its own.
    studio: Subject,
    /// With a pinned procedure.
    pinned: Subject,
    begun: Instant,
    is_stopped: AtomicBool,
    watched: Mutex<Watched>,
    /// One attack at a time that uses very many connections.
    crowd: Mutex<()>,
    left_open: Mutex<Vec<TcpStream>>,
    approved: Mutex<HashSet<String>>,
    rounds_begun: AtomicU64,
}

/// What is counted beside the attacks.
#[derive(Default)]
struct Watched {
    calls: u64,
    slowest: Duration,
    kills: u64,
    terms: u64,
    slowest_term: Duration,
    cut_short: u64,
    left_behind: u64,
    meters: BTreeMap<&'static str, meter::Meter>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Arena {
    fn subjects(&self) -> [&Subject; 4] {
        [&self.open, &self.named, &self.studio, &self.pinned]
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        locked(&self.watched)
    }

    /// How many rounds of all attacks are completed.
    fn rounds(&self) -> u64 {
        let begun = self.rounds_begun.load(Ordering::SeqCst);
        begun.saturating_sub(1)
    }

    fn is_over(&self) -> bool {
        let is_late = self.begun.elapsed() > self.settings.time;
        let is_enough = is_late && self.rounds() > 0;
        is_enough || self.begun.elapsed() > self.settings.time + ROUND_MAX
    }

    /// Waits, but not beyond the end.
    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }

    /// Makes a request and searches the reply for secrets.
    fn send(&self, subject: &Subject, request: &Request, wait: Duration) -> Result<Reply> {
        let address = subject.address().context("the server is being restarted")?;
        let reply = request.send(address, wait)?;
        let place = format!("a reply of {}", subject.name);
        self.witness.hears(&place, reply.head.as_bytes(), &[]);
        self.witness.hears(&place, &reply.body, &[]);
        Ok(reply)
    }

    fn get(&self, on: &Subject, token: Option<&str>, path: &str, wait: Duration) -> Result<Reply> {
        self.send(on, &Request::new("GET", path).bearer(token), wait)
    }

    fn call(
        &self,
        on: &Subject,
        token: Option<&str>,
        tool: &str,
        arguments: &Value,
        wait: Duration,
    ) -> Result<Reply> {
        let request = Request::call(tool, arguments).bearer(token);
        self.send(on, &request, wait)
    }

    /// Holds off other attacks that use very many connections or much time.
    fn alone(&self) -> MutexGuard<'_, ()> {
        locked(&self.crowd)
    }

    /// Keeps a connection open until many others came after it.
    fn leave_open(&self, stream: TcpStream) {
        let mut left = locked(&self.left_open);
        if left.len() >= LEFT_OPEN_MAX {
            left.remove(0);
        }
        left.push(stream);
    }

    /// A person's word for a run.
    fn approved(&self, run: &str) {
        locked(&self.approved).insert(run.to_owned());
    }

    /// Ends a run that was left waiting: whatever of its id is in the text.
    fn aborts_later(&self, text: &str) {
        let Some(at) = text.find("run_") else {
            return;
        };
        let rest = text.get(at..).unwrap_or_default();
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let run = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let path = format!("/api/runs/{run}/abort");
        let request = Request::json("POST", &path, &json!({"why": "the attack is over"}));
        let _ = self.send(&self.open, &request, Duration::from_secs(2));
    }

    /// Ends everything that still runs.
    fn abort_open_runs(&self) {
        let path = "/api/runs?status=running,paused&most=50";
        let Ok(listed) = self.get(&self.open, None, path, Duration::from_secs(3)) else {
            return;
        };
        for run in listed.json()["runs"].as_array().into_iter().flatten() {
            self.aborts_later(run["run_id"].as_str().unwrap_or_default());
        }
    }

    /// Counts the guarded files that were changed.
    fn witness_files(&self) -> usize {
        let changed = self.world.changed();
        for path in &changed {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let what = format!("{name} was changed");
            self.witness.violated(ViolationKind::Intrusion, what);
        }
        if self.world.pwned().exists() {
            let what = "a command of a hostile document was started";
            self.witness.violated(ViolationKind::Intrusion, what);
            let _ = std::fs::remove_file(self.world.pwned());
        }
        changed.len()
    }
}

/// Soaks. What went wrong is in the report.
pub fn hostile(settings: &HostileSettings) -> Result<Report> {
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
        scope.spawn(|| watch::sample(&arena));
        scope.spawn(|| watch::kill(&arena, Chance::new(settings.seed ^ 1)));
        for subject in [&arena.open, &arena.named] {
            let arena = &arena;
            scope.spawn(move || watch::call_normally(arena, subject));
        }
        let queue = Mutex::new(Vec::new());
        std::thread::scope(|inner| {
            for number in 0..ATTACKERS {
                let (arena, attacks, queue) = (&arena, &attacks, &queue);
                let chance = Chance::new(settings.seed.wrapping_add(number * 7919));
                inner.spawn(move || attacking(arena, attacks, queue, chance));
            }
        });
        watch::settle(&arena);
        arena.is_stopped.store(true, Ordering::SeqCst);
    });
    aftermath::check(&arena)?;
    Ok(arena.report())
}

/// Makes one attack after the other, in rounds of all of them.
fn attacking(arena: &Arena, all: &[Attack], queue: &Mutex<Vec<Attack>>, mut chance: Chance) {
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
            let number = arena.witness.begins(attack.kind);
            let outcome = (attack.run)(arena, &mut chance).unwrap_or("no answer");
            arena.witness.ends(number, outcome);
            arena.witness_files();
        }
    }
}

fn shuffled(all: &[Attack], chance: &mut Chance) -> Vec<Attack> {
    let mut order = all.to_vec();
    for last in (1..order.len()).rev() {
        let other = chance.between(0, last as u64) as usize;
        order.swap(last, other);
    }
    order
}

fn prepare(settings: &HostileSettings, evil: &EvilHttp) -> Result<Arena> {
    let mut chance = Chance::new(settings.seed);
    let world = World::make(
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
    let witness = Witness::new(&secrets, settings.tell);
    let path = |name: &str| world.path(name).display().to_string();
    let (work, data, logs) = (path("work"), path("work/data"), world.path("logs"));
    let config = path("work/tramline.yaml");
    let reach = ["--data-dir", &data, "--root", &work, "--config", &config];
    let serve = |name, first: &[&str], more: &[&str]| {
        let all = [first, &reach, more].concat();
        Subject::new(name, world.tramline.clone(), logs.clone(), &all)
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
    Ok(Arena {
        open: serve("open", &["serve", &graphs], &sets),
        named: serve(
            "named",
            &["serve", &graphs],
            &[&sets[..], &["--token-file", &tokens]].concat(),
        ),
        pinned: serve("pinned", &["serve"], &guarded),
        studio: Subject::new(
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
        watched: Mutex::default(),
        crowd: Mutex::default(),
        left_open: Mutex::default(),
        approved: Mutex::default(),
        rounds_begun: AtomicU64::new(0),
        world,
    })
}
