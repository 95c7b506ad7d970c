//! Every file from which a client starts servers, for protection from file tools.

use super::client::{Client, Directories, Scope};
use std::path::{Path, PathBuf};

/// What is protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientFile {
    One(PathBuf),
    /// A directory with everything in it.
    Directory(PathBuf),
}

/// The files of this user, if the home directory is known, and those of these projects.
pub(crate) fn client_files(projects: &[PathBuf]) -> Vec<ClientFile> {
    let home = super::home();
    let of_user = home.iter().flat_map(|home| {
        let at = Directories {
            home: home.clone(),
            project: home.clone(),
        };
        files(&at, Scope::User)
    });
    let of_projects = projects.iter().flat_map(|project| {
        let at = Directories {
            home: home.clone().unwrap_or_else(|| project.clone()),
            project: project.clone(),
        };
        files(&at, Scope::Project)
    });
    of_user.chain(of_projects).collect()
}

/// The files of one scope, with Tramline's own.
fn files(at: &Directories, scope: Scope) -> Vec<ClientFile> {
    let own = at.own_servers(scope).path;
    let mut all: Vec<ClientFile> = own.parent().map(directory).into_iter().collect();
    for client in Client::ALL {
        let Some(path) = client.place(scope, at).map(|place| place.path) else {
            continue;
        };
        match client {
            // It reads every file of the directory.
            Client::Continue => all.extend(path.parent().map(directory)),
            // It reads both names.
            Client::Opencode => {
                let names = ["opencode.json", "opencode.jsonc"];
                all.extend(names.map(|name| ClientFile::One(path.with_file_name(name))));
            }
            Client::ClaudeCode
            | Client::ClaudeDesktop
            | Client::Cursor
            | Client::Vscode
            | Client::Codex
            | Client::Gemini
            | Client::Windsurf
            | Client::Zed
            | Client::Cline
            | Client::Goose => all.push(ClientFile::One(path)),
        }
    }
    all
}

fn directory(path: &Path) -> ClientFile {
    ClientFile::Directory(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_with_a_file_in_projects_is_among_them() {
        let at = Directories {
            home: "/home/ann".into(),
            project: "/p".into(),
        };
        let found = files(&at, Scope::Project);
        for file in [
            ".mcp.json",
            ".cursor/mcp.json",
            ".vscode/mcp.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            "opencode.json",
            "opencode.jsonc",
            ".zed/settings.json",
        ] {
            let file = ClientFile::One(Path::new("/p").join(file));
            assert!(found.contains(&file), "{file:?}");
        }
        for folder in [".tramline", ".continue/mcpServers"] {
            let folder = directory(&Path::new("/p").join(folder));
            assert!(found.contains(&folder), "{folder:?}");
        }
    }
}
