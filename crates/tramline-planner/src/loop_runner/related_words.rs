//! Maps words that people use for a task to the words that describe tools for it.
//!
//! Search compares words. Hardly any tool is described by "codebase" or "migrate"; such requests need tools that list,
//! search and read files, or describe and change tables. This table is only used to offer candidates to a planner,
//! never to run anything.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use tramline_catalog::search::stemmed_words;

/// Each entry: words of requests, and words of tool descriptions.
const RELATED: &[(&[&str], &str)] = &[
    (
        &[
            "codebase",
            "code",
            "source",
            "project",
            "workspace",
            "application",
            "app",
            "software",
        ],
        "directory tree list files search read file",
    ),
    (
        &[
            "analyze",
            "analyse",
            "analysis",
            "inspect",
            "review",
            "audit",
            "investigate",
            "examine",
            "understand",
            "explain",
            "summarize",
            "summarise",
            "scan",
            "check",
            "study",
        ],
        "read file search list contents",
    ),
    (
        &[
            "error",
            "bug",
            "issue",
            "vulnerability",
            "security",
            "todo",
            "fixme",
            "secret",
            "credential",
            "password",
            "typescript",
            "javascript",
            "python",
            "rust",
            "occurrence",
            "mention",
            "usage",
            "grep",
            "pattern",
            "string",
            "import",
            "function",
        ],
        "search files pattern read text file",
    ),
    (
        &[
            "parse", "extract", "load", "open", "view", "display", "print", "cat", "content",
        ],
        "read text file contents",
    ),
    (
        &[
            "xml",
            "json",
            "yaml",
            "csv",
            "toml",
            "ini",
            "markdown",
            "readme",
            "log",
            "config",
            "configuration",
            "setting",
            "document",
            "notes",
            "license",
            "manifest",
            "package",
        ],
        "read text file search files list directory",
    ),
    (
        &["several", "multiple", "both", "every", "all"],
        "multiple files list",
    ),
    (
        &["image", "picture", "photo", "audio", "sound", "video"],
        "read media file",
    ),
    (
        &[
            "structure",
            "layout",
            "overview",
            "architecture",
            "tree",
            "hierarchy",
            "organised",
            "organized",
        ],
        "directory tree list directory",
    ),
    (&["folder", "directory"], "directory list create"),
    (
        &["rename", "relocate", "archive"],
        "move file create directory",
    ),
    (
        &[
            "edit", "fix", "replace", "correct", "patch", "refactor", "modify", "typo",
        ],
        "edit file read file write file",
    ),
    (
        &[
            "save", "export", "record", "dump", "report", "document", "generate", "output",
        ],
        "write file create file",
    ),
    (
        &[
            "size",
            "permission",
            "modified",
            "metadata",
            "timestamp",
            "large",
            "largest",
            "disk",
        ],
        "file info list directory sizes",
    ),
    (
        &["allowed", "access", "permitted"],
        "list allowed directories",
    ),
    (
        &[
            "migrate",
            "migration",
            "schema",
            "database",
            "db",
            "sql",
            "table",
            "column",
            "sqlite",
        ],
        "describe table list tables create table read query write query",
    ),
    (
        &[
            "row", "record", "customer", "order", "user", "invoice", "total", "sum", "average",
            "count", "top", "latest", "sales", "revenue", "entry",
        ],
        "read query select list tables describe table",
    ),
    (
        &[
            "insert", "delete", "remove", "update", "upsert", "populate", "seed",
        ],
        "write query insert update delete",
    ),
    (
        &["insight", "finding", "memo", "business"],
        "append insight read query",
    ),
    (
        &[
            "history",
            "commit",
            "changelog",
            "author",
            "blame",
            "recent",
            "revision",
            "release",
            "version",
        ],
        "git log show commits diff",
    ),
    (
        &[
            "change",
            "difference",
            "compare",
            "uncommitted",
            "pending",
            "modified",
            "staged",
        ],
        "git diff status staged unstaged",
    ),
    (
        &[
            "deploy",
            "deployment",
            "ship",
            "production",
            "publish",
            "release",
            "merge",
        ],
        "commit changes, add files to the staging area, working tree status, checkout branch",
    ),
    (
        &["branch", "feature", "switch"],
        "git branch create checkout",
    ),
    (
        &["undo", "revert", "unstage", "discard"],
        "git reset status",
    ),
    (&["repository", "repo", "git"], "git status log diff"),
    (
        &[
            "remember",
            "memorize",
            "memorise",
            "memory",
            "learn",
            "note",
            "fact",
            "know",
            "knowledge",
            "preference",
        ],
        "knowledge graph create entities observations relations search nodes",
    ),
    (
        &[
            "recall",
            "relationship",
            "related",
            "connection",
            "person",
            "people",
        ],
        "knowledge graph search nodes open nodes read graph relations",
    ),
    (
        &["forget", "obsolete", "outdated"],
        "delete entities observations relations knowledge graph",
    ),
    (
        &[
            "download", "webpage", "website", "page", "url", "api", "request", "endpoint", "web",
        ],
        "http fetch request url",
    ),
    (
        &[
            "command", "run", "execute", "script", "test", "build", "compile", "install", "lint",
        ],
        "shell command run",
    ),
    (
        &["ask", "translate", "classify", "rewrite", "draft"],
        "llm prompt model",
    ),
    (
        &["copy", "backup", "duplicate"],
        "copy file write file read file",
    ),
];

static BY_WORD: LazyLock<BTreeMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut all: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for (words, tools) in RELATED {
        for word in words.iter().flat_map(|word| stemmed_words(word)) {
            all.entry(word).or_default().push(tools);
        }
    }
    all
});

/// Descriptions of tools that a request may need in addition to its own words, one for each known word.
pub(super) fn related_texts(wish: &str) -> Vec<&'static str> {
    let mut all: Vec<&'static str> = Vec::new();
    for word in stemmed_words(wish) {
        for text in BY_WORD.get(&word).into_iter().flatten() {
            if !all.contains(text) {
                all.push(text);
            }
        }
    }
    all
}
