//! The MCP clients that can be configured: where each keeps its servers, and in which shape.

use super::config_text::Syntax;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// An MCP client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Vscode,
    Codex,
    Gemini,
    Opencode,
    Windsurf,
    Zed,
    Cline,
    Continue,
    Goose,
}

/// For whom an entry is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Scope {
    /// Every project of this user
    User,
    /// This project: a file in its directory
    Project,
}

impl Scope {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A configuration file, and the directory that it must not lead out of.
#[derive(Clone, Debug)]
pub(super) struct ConfigPlace {
    pub(super) path: PathBuf,
    pub(super) base: PathBuf,
    /// Whether the base is a project. Its links may have come with it, so they are not followed unasked.
    pub(super) in_project: bool,
}

/// Where this user's and this project's files are.
pub(super) struct Directories {
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
}

impl Directories {
    /// `$XDG_CONFIG_HOME`, or `.config` in the home directory.
    fn config(&self) -> PathBuf {
        absolute_variable("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"))
    }

    /// Where desktop programs keep their settings.
    fn application_support(&self) -> PathBuf {
        match cfg!(target_os = "macos") {
            true => self.home.join("Library/Application Support"),
            false => self.config(),
        }
    }

    /// Tramline's own servers: the target of an import.
    pub(super) fn own_servers(&self, scope: Scope) -> ConfigPlace {
        match scope {
            Scope::User => self.user(self.config().join("tramline/mcp.json")),
            Scope::Project => self.in_project(".tramline/mcp.json"),
        }
    }

    fn user(&self, path: PathBuf) -> ConfigPlace {
        let config = self.config();
        let base = if path.starts_with(&self.home) {
            self.home.clone()
        } else {
            config
        };
        ConfigPlace {
            path,
            base,
            in_project: false,
        }
    }

    fn in_project(&self, path: &str) -> ConfigPlace {
        ConfigPlace {
            path: self.project.join(path),
            base: self.project.clone(),
            in_project: true,
        }
    }
}

/// A directory that a variable names; a relative one is ignored.
fn absolute_variable(name: &str) -> Option<PathBuf> {
    let value = PathBuf::from(std::env::var_os(name)?);
    value.is_absolute().then_some(value)
}

impl Client {
    pub(super) const ALL: [Self; 12] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::Vscode,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Windsurf,
        Self::Zed,
        Self::Cline,
        Self::Continue,
        Self::Goose,
    ];

    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Cline => "cline",
            Self::Continue => "continue",
            Self::Goose => "goose",
        }
    }

    /// Its name in messages.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Cline => "Cline",
            Self::Continue => "Continue",
            Self::Goose => "Goose",
        }
    }

    /// How its file is written.
    pub(super) fn syntax(self) -> Syntax {
        match self {
            Self::Codex => Syntax::Toml,
            Self::Goose => Syntax::Yaml,
            Self::ClaudeCode
            | Self::ClaudeDesktop
            | Self::Cursor
            | Self::Vscode
            | Self::Gemini
            | Self::Opencode
            | Self::Windsurf
            | Self::Zed
            | Self::Cline
            | Self::Continue => Syntax::Json,
        }
    }

    /// The key under which it lists its servers.
    pub(super) fn container(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::Codex => "mcp_servers",
            Self::Opencode => "mcp",
            Self::Zed => "context_servers",
            Self::Goose => "extensions",
            Self::ClaudeCode
            | Self::ClaudeDesktop
            | Self::Cursor
            | Self::Gemini
            | Self::Windsurf
            | Self::Cline
            | Self::Continue => "mcpServers",
        }
    }

    /// Its configuration file; `None` if it has none in this scope.
    pub(super) fn place(self, scope: Scope, at: &Directories) -> Option<ConfigPlace> {
        let home = |path: &str| Some(at.user(at.home.join(path)));
        let project = |path: &str| Some(at.in_project(path));
        match (self, scope) {
            (Self::ClaudeCode, Scope::User) => Some(overridden(
                "CLAUDE_CONFIG_DIR",
                ".claude.json",
                at.user(at.home.join(".claude.json")),
            )),
            (Self::ClaudeCode, Scope::Project) => project(".mcp.json"),
            (Self::ClaudeDesktop, Scope::User) => {
                let support = at.application_support();
                Some(at.user(support.join("Claude/claude_desktop_config.json")))
            }
            (Self::Cursor, Scope::User) => home(".cursor/mcp.json"),
            (Self::Cursor, Scope::Project) => project(".cursor/mcp.json"),
            (Self::Vscode, Scope::User) => {
                Some(at.user(at.application_support().join("Code/User/mcp.json")))
            }
            (Self::Vscode, Scope::Project) => project(".vscode/mcp.json"),
            (Self::Codex, Scope::User) => Some(overridden(
                "CODEX_HOME",
                "config.toml",
                at.user(at.home.join(".codex/config.toml")),
            )),
            (Self::Codex, Scope::Project) => project(".codex/config.toml"),
            (Self::Gemini, Scope::User) => home(".gemini/settings.json"),
            (Self::Gemini, Scope::Project) => project(".gemini/settings.json"),
            (Self::Opencode, Scope::User) => {
                let folder = at.config().join("opencode");
                Some(at.user(folder.join(opencode_file(&folder))))
            }
            (Self::Opencode, Scope::Project) => project(opencode_file(&at.project)),
            (Self::Windsurf, Scope::User) => home(".codeium/windsurf/mcp_config.json"),
            (Self::Zed, Scope::User) => Some(at.user(at.config().join("zed/settings.json"))),
            (Self::Zed, Scope::Project) => project(".zed/settings.json"),
            (Self::Cline, Scope::User) => Some(cline_place(at)),
            // Continue reads every file of this directory, so the entry gets one of its own.
            (Self::Continue, Scope::User) => home(".continue/mcpServers/tramline.json"),
            (Self::Continue, Scope::Project) => project(".continue/mcpServers/tramline.json"),
            (Self::Goose, Scope::User) => Some(at.user(at.config().join("goose/config.yaml"))),
            (Self::ClaudeDesktop | Self::Windsurf | Self::Cline | Self::Goose, Scope::Project) => {
                None
            }
        }
    }

    /// An entry that starts this command.
    pub(super) fn entry(self, name: &str, command: &str, args: &[String]) -> Value {
        match self {
            Self::ClaudeCode | Self::Vscode => {
                json!({ "type": "stdio", "command": command, "args": args })
            }
            Self::Opencode => {
                let words: Vec<&str> = [command]
                    .into_iter()
                    .chain(args.iter().map(String::as_str))
                    .collect();
                json!({ "type": "local", "command": words, "enabled": true })
            }
            Self::Goose => json!({
                "enabled": true,
                "type": "stdio",
                "name": name,
                "cmd": command,
                "args": args,
                "envs": {},
                "timeout": 300,
            }),
            Self::ClaudeDesktop
            | Self::Cursor
            | Self::Codex
            | Self::Gemini
            | Self::Windsurf
            | Self::Zed
            | Self::Cline
            | Self::Continue => json!({ "command": command, "args": args }),
        }
    }

    /// What a person does so that the client sees the entry.
    pub(super) fn next_step(self) -> &'static str {
        match self {
            Self::ClaudeCode => "start `claude` and type /mcp",
            Self::ClaudeDesktop => "restart Claude Desktop",
            Self::Cursor => "open Cursor's MCP settings and enable the server",
            Self::Vscode => "run `MCP: List Servers` in VS Code and start it",
            Self::Codex => "start `codex` and type /mcp",
            Self::Gemini => "start `gemini` in a trusted folder and type /mcp",
            Self::Opencode => "run `opencode mcp list`",
            Self::Windsurf => "refresh the MCP servers in Cascade",
            Self::Zed => "open the Agent Panel's settings in Zed",
            Self::Cline => "open the MCP servers of Cline",
            Self::Continue => "reload Continue's configuration",
            Self::Goose => "start `goose session`",
        }
    }
}

/// The file in the directory that a variable names, or else the usual one.
fn overridden(variable: &str, file: &str, usual: ConfigPlace) -> ConfigPlace {
    match absolute_variable(variable) {
        Some(base) => ConfigPlace {
            path: base.join(file),
            base,
            in_project: false,
        },
        None => usual,
    }
}

/// opencode reads both names and writes the second one.
fn opencode_file(folder: &Path) -> &'static str {
    match folder.join("opencode.json").is_file() {
        true => "opencode.json",
        false => "opencode.jsonc",
    }
}

/// The extension's file where the extension is installed, else that of the command line.
fn cline_place(at: &Directories) -> ConfigPlace {
    if let Some(path) = absolute_variable("CLINE_MCP_SETTINGS_PATH") {
        let base = path.parent().unwrap_or(&path).to_owned();
        return ConfigPlace {
            path,
            base,
            in_project: false,
        };
    }
    let extension = at
        .application_support()
        .join("Code/User/globalStorage/saoudrizwan.claude-dev");
    let folder = match extension.is_dir() {
        true => extension,
        false => at.home.join(".cline/data"),
    };
    at.user(folder.join("settings/cline_mcp_settings.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_on_the_command_line_are_the_names_in_messages() {
        for client in Client::ALL {
            let value = client.to_possible_value().unwrap();
            assert_eq!(value.get_name(), client.name());
        }
        assert_eq!(Client::value_variants().len(), Client::ALL.len());
    }
}
