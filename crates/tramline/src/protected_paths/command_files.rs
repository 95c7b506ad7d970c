//! The files that a server is started from: its program, scripts, modules and configuration.
//!
//! A command line does not say which of its words are files. Every word that names an existing file is protected, and in
//! a root also every word that looks like the name of a file: if it does not exist yet, an agent could create it. What
//! these files load in turn is not known.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tramline_mcp_client::config::{ServerConfig, ServerEndpoint, expand};

/// The maximum number of files of one server. All of them are checked for each call of a file tool.
const FILES_MAX: usize = 256;
/// Characters that separate words in a command for a shell, in lists such as `PATH`, and in `--option=value`.
const SEPARATORS: &str = " \t\r\n;|&()<>{}`'\",:=";

/// The files in a server's command line and environment, with the variables and settings that are known now.
pub(super) fn command_files(
    server: &ServerConfig,
    roots: &[PathBuf],
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<PathBuf> {
    let ServerEndpoint::Stdio {
        command,
        args,
        env,
        cwd,
    } = &server.reach
    else {
        return Vec::new();
    };
    let roots = roots.iter().filter_map(|root| root.canonicalize().ok());
    // A text with an unset variable starts nothing.
    let expanded = |text: &String| expand(text, lookup).ok();
    let mut files = CommandFiles {
        base: cwd.as_ref().and_then(expanded).unwrap_or_default().into(),
        roots: roots.collect(),
        found: BTreeSet::new(),
    };
    let path = env
        .get("PATH")
        .and_then(expanded)
        .or_else(|| lookup("PATH"));
    if let Some(command) = expanded(command) {
        files.add_program(&command, &path.unwrap_or_default());
    }
    let args: Vec<_> = args.iter().filter_map(expanded).collect();
    for (at, arg) in args.iter().enumerate() {
        files.add_words(arg);
        if at.checked_sub(1).is_some_and(|before| args[before] == "-m") {
            files.add_module(arg);
        }
    }
    for value in env.values().filter_map(expanded) {
        files.add_words(&value);
    }
    files.found.into_iter().collect()
}

struct CommandFiles {
    /// Where relative names are looked up.
    base: PathBuf,
    /// The roots of the file tools, with all symlinks resolved.
    roots: Vec<PathBuf>,
    found: BTreeSet<PathBuf>,
}

impl CommandFiles {
    /// Adds a program. A bare name is looked up in `PATH`; directories before the one that contains it count too, because
    /// a program created there would be found first.
    fn add_program(&mut self, command: &str, path: &str) {
        if command.contains('/') {
            return self.add(command);
        }
        for dir in std::env::split_paths(path) {
            let program = self.base.join(dir).join(command);
            self.add_path(&program);
            if program.is_file() {
                return;
            }
        }
    }

    /// Adds a text that may be the name of a file or contain some.
    fn add_words(&mut self, text: &str) {
        self.add_if_named(text);
        if let Some((_, value)) = text.split_once('=') {
            self.add_if_named(value);
        }
        for word in text.split(|c: char| SEPARATORS.contains(c)) {
            self.add_if_named(word);
        }
    }

    /// Adds a Python module in the working directory.
    fn add_module(&mut self, name: &str) {
        let name = name.replace('.', "/");
        for file in ["", "/__main__", "/__init__"] {
            self.add(&format!("{name}{file}.py"));
        }
    }

    /// Adds a word that names a file or looks like the name of one.
    fn add_if_named(&mut self, word: &str) {
        let looks_like_file = word.contains(['.', '/']) && !word.starts_with('-');
        let only_dots = word.chars().all(|c| matches!(c, '.' | '/'));
        if !only_dots && (looks_like_file || self.base.join(word).is_file()) {
            self.add(word);
        }
    }

    fn add(&mut self, name: &str) {
        self.add_path(&self.base.join(name));
    }

    /// Adds a path if it is a file, or if a file tool could create it.
    fn add_path(&mut self, path: &Path) {
        if self.found.len() < FILES_MAX
            && (path.is_file() || !path.exists() && self.is_in_root(path))
        {
            self.found.insert(path.to_owned());
        }
    }

    /// Whether a missing path would be created in a root.
    fn is_in_root(&self, path: &Path) -> bool {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let real = path.ancestors().find_map(|above| above.canonicalize().ok());
        real.is_some_and(|real| self.roots.iter().any(|root| real.starts_with(root)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_expr::Value;
    use tramline_mcp_client::config::read_servers;

    /// The protected files of a server in a root with some files, relative to the root.
    fn protected(server: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["bin", "pkg", "lib"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        for file in ["tmpl.py", "bin/tool", "lib/f.py", "setup", "conf.json"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let server = server.replace("ROOT", root.to_str().unwrap());
        let servers = Value::from_json(&format!(r#"{{"s":{server}}}"#)).unwrap();
        let servers = read_servers(&servers, "").unwrap();
        let lookup = |name: &str| match name {
            "PROJ" | "settings.DIR" => Some(root.to_str().unwrap().to_owned()),
            "PATH" => Some(format!("{0}/first:{0}/bin:{0}/last", root.display())),
            _ => None,
        };
        let found = command_files(&servers[0], std::slice::from_ref(&root), &lookup);
        let inside = found
            .iter()
            .filter_map(|path| path.strip_prefix(&root).ok());
        inside.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn every_file_that_a_command_names_is_protected() {
        for (server, expected) in [
            (
                r#"{"command":"/x/python3","args":["${PROJ}/tmpl.py"]}"#,
                "tmpl.py",
            ),
            (
                r#"{"command":"/x/python3","args":["${settings.DIR}/tmpl.py"]}"#,
                "tmpl.py",
            ),
            (
                r#"{"command":"/x/python3","args":["${NO:-ROOT/lib}/f.py"]}"#,
                "lib/f.py",
            ),
            (r#"{"command":"${PROJ}/bin/tool"}"#, "bin/tool"),
            (
                r#"{"command":"/x/python3","args":["f.py"],"cwd":"${PROJ}/lib"}"#,
                "lib/f.py",
            ),
            (
                r#"{"command":"/x/python3","args":["later.py"],"cwd":"ROOT"}"#,
                "later.py",
            ),
            (
                r#"{"command":"/x/python3","args":["ROOT/no/later.py"]}"#,
                "no/later.py",
            ),
            (
                r#"{"command":"/x/sh","args":["-c","cd .; python3 'lib/f.py' && x"],"cwd":"ROOT"}"#,
                "lib/f.py",
            ),
            (
                r#"{"command":"/x/node","args":["--require=./conf.json"],"cwd":"ROOT"}"#,
                "conf.json",
            ),
            (
                r#"{"command":"/x/make","args":["setup"],"cwd":"ROOT"}"#,
                "setup",
            ),
            (
                r#"{"command":"/x/bash","env":{"BASH_ENV":"${PROJ}/setup"}}"#,
                "setup",
            ),
            (
                r#"{"command":"/x/node","env":{"A":"/no/x:ROOT/conf.json"}}"#,
                "conf.json",
            ),
        ] {
            let found = protected(server);
            assert!(
                found.iter().any(|file| file == expected),
                "{server}: {found:?}"
            );
        }
        let found = protected(r#"{"command":"tool"}"#);
        assert_eq!(
            found,
            ["bin/tool", "first/tool"],
            "and nothing behind it in PATH"
        );
        let found = protected(r#"{"command":"/x/python3","args":["-m","pkg.serve"],"cwd":"ROOT"}"#);
        for file in [
            "pkg/serve.py",
            "pkg/serve/__main__.py",
            "pkg/serve/__init__.py",
        ] {
            assert!(found.iter().any(|other| other == file), "{file}: {found:?}");
        }
    }

    #[test]
    fn other_words_protect_nothing() {
        let server = r#"{"command":"/x/server","args":["--stdio","serve","8080","-v","ROOT","ROOT/lib",".","../.."],
            "env":{"LEVEL":"debug","DIR":"ROOT/lib"},"cwd":"ROOT"}"#;
        assert_eq!(protected(server), Vec::<String>::new());
        let unset = r#"{"command":"/x/python3","args":["${UNSET}/tmpl.py"]}"#;
        assert_eq!(protected(unset), Vec::<String>::new());
        assert_eq!(
            protected(r#"{"type":"http","url":"http://a/b"}"#),
            Vec::<String>::new()
        );
    }
}
