//! `tramline lsp`: a language server over standard input and output.
//!
//! Diagnostics are those of `tramline check --offline`. Nothing that a document names is started,
//! because an editor opens files that nobody has looked at yet.

use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, documents, output};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use tramline_expr::Str;

mod completion;
mod cursor_path;
mod features;
mod frames;
mod open_document;
mod positions;

use open_document::OpenDocument;

/// Check and complete documents in an editor, over the Language Server Protocol.
#[derive(clap::Args)]
pub(super) struct Lsp {
    /// Accepted because many editors pass it; there is no other transport
    #[arg(long = "stdio", hide = true)]
    _stdio: bool,
    #[command(flatten)]
    reach: AccessArgs,
}

/// Most documents open at once; an editor that never closes any must not use up the memory.
const OPEN_DOCUMENTS_MAX: usize = 1_000;
/// Most bytes of all open documents together, for the same reason.
const OPEN_BYTES_MAX: usize = 128 << 20;

/// The error codes of JSON-RPC and of the protocol.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const METHOD_NOT_FOUND: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;
const NOT_INITIALIZED: i32 = -32_002;
const REQUEST_FAILED: i32 = -32_803;

pub(super) fn main(common: &CommonArgs, verb: &Lsp) -> CliResult {
    let config = common.config(&verb.reach)?;
    let mut server = LanguageServer {
        known_servers: documents::known_servers(&config)?,
        ..LanguageServer::default()
    };
    let failed = |error: std::io::Error| CliError {
        exit: Exit::Failed,
        message: format!("the connection to the editor failed: {error}"),
    };
    let mut input = std::io::stdin().lock();
    while let Some(text) = frames::read(&mut input).map_err(failed)? {
        for reply in server.handle(&text) {
            output::frame(&reply.to_string()).map_err(failed)?;
        }
        if server.phase == Phase::Exited {
            break;
        }
    }
    // The protocol's rule: an editor that goes away without a shutdown request is an error.
    Ok(if server.was_shut_down {
        Exit::Done
    } else {
        Exit::Failed
    })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Uninitialized,
    Running,
    ShutDown,
    Exited,
}

/// The state of the server.
#[derive(Default)]
struct LanguageServer {
    phase: Phase,
    was_shut_down: bool,
    known_servers: Vec<Str>,
    documents: BTreeMap<String, OpenDocument>,
}

/// A request that cannot be answered.
struct RequestError {
    code: i32,
    message: String,
}

impl RequestError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl LanguageServer {
    /// Handles one message and returns what to send.
    fn handle(&mut self, text: &str) -> Vec<Json> {
        let Ok(message) = serde_json::from_str::<Json>(text) else {
            let error = RequestError::new(PARSE_ERROR, "the message is not JSON");
            return vec![reply(&Json::Null, Err(error))];
        };
        let id = message.get("id");
        let Some(method) = message.get("method").and_then(Json::as_str) else {
            // A response: this server sends no requests. Anything else is not a message.
            let is_response = message.get("result").is_some() || message.get("error").is_some();
            let error = || RequestError::new(INVALID_REQUEST, "the message has no method");
            return match is_response {
                true => Vec::new(),
                false => vec![reply(id.unwrap_or(&Json::Null), Err(error()))],
            };
        };
        let params = message.get("params").unwrap_or(&Json::Null);
        match id {
            Some(id) => vec![reply(id, self.request(method, params))],
            None => self.notification(method, params),
        }
    }

    fn request(&mut self, method: &str, params: &Json) -> Result<Json, RequestError> {
        match (self.phase, method) {
            (Phase::Uninitialized, "initialize") => {
                self.phase = Phase::Running;
                return Ok(capabilities());
            }
            (Phase::Uninitialized, _) => {
                return Err(RequestError::new(
                    NOT_INITIALIZED,
                    "send `initialize` first",
                ));
            }
            (Phase::Running, _) => {}
            (Phase::ShutDown | Phase::Exited, _) => {
                return Err(RequestError::new(
                    INVALID_REQUEST,
                    "the server was shut down",
                ));
            }
        }
        match method {
            "shutdown" => {
                self.phase = Phase::ShutDown;
                self.was_shut_down = true;
                Ok(Json::Null)
            }
            "initialize" => Err(RequestError::new(
                INVALID_REQUEST,
                "`initialize` was sent before",
            )),
            "textDocument/hover" => {
                let (document, at) = self.place(params)?;
                Ok(features::hover(document, at))
            }
            "textDocument/definition" => {
                let (document, at) = self.place(params)?;
                Ok(features::definition(document, at))
            }
            "textDocument/completion" => {
                let (document, at) = self.place(params)?;
                Ok(completion::complete(document, at, &self.known_servers))
            }
            "textDocument/prepareRename" => {
                let (document, at) = self.place(params)?;
                Ok(features::prepare_rename(document, at))
            }
            "textDocument/rename" => {
                let (document, at) = self.place(params)?;
                let name = params.get("newName").and_then(Json::as_str);
                let name =
                    name.ok_or_else(|| RequestError::new(INVALID_PARAMS, "`newName` is missing"))?;
                features::rename(document, at, name)
                    .map_err(|message| RequestError::new(REQUEST_FAILED, message))
            }
            other => Err(RequestError::new(
                METHOD_NOT_FOUND,
                format!("unknown method `{other}`"),
            )),
        }
    }

    /// The open document and the position that a request names.
    fn place(&self, params: &Json) -> Result<(&OpenDocument, positions::Position), RequestError> {
        let uri = params.pointer("/textDocument/uri").and_then(Json::as_str);
        let number = |key: &str| params.pointer(&format!("/position/{key}"))?.as_u64();
        let (Some(uri), Some(line), Some(character)) = (uri, number("line"), number("character"))
        else {
            let message = "`textDocument.uri` or `position` is missing";
            return Err(RequestError::new(INVALID_PARAMS, message));
        };
        let document = self
            .documents
            .get(uri)
            .ok_or_else(|| RequestError::new(INVALID_PARAMS, format!("{uri} is not open")))?;
        Ok((document, positions::Position { line, character }))
    }

    fn notification(&mut self, method: &str, params: &Json) -> Vec<Json> {
        if method == "exit" {
            self.phase = Phase::Exited;
            return Vec::new();
        }
        if self.phase != Phase::Running {
            return Vec::new();
        }
        let Some(uri) = params.pointer("/textDocument/uri").and_then(Json::as_str) else {
            return Vec::new();
        };
        let version = params
            .pointer("/textDocument/version")
            .and_then(Json::as_i64);
        match method {
            "textDocument/didOpen" => {
                let text = params.pointer("/textDocument/text").and_then(Json::as_str);
                self.set_text(uri, text.unwrap_or_default(), version)
            }
            "textDocument/didChange" => {
                // The last change has the whole text: only full synchronization is offered.
                let changes = params.get("contentChanges").and_then(Json::as_array);
                let last = changes.and_then(|changes| changes.last());
                let text = last
                    .and_then(|change| change.get("text"))
                    .and_then(Json::as_str);
                match (text, self.documents.contains_key(uri)) {
                    (Some(text), true) => self.set_text(uri, text, version),
                    (Some(_) | None, _) => Vec::new(),
                }
            }
            "textDocument/didClose" => {
                self.documents.remove(uri);
                vec![publish(uri, None, Vec::new())]
            }
            _ => Vec::new(),
        }
    }

    fn set_text(&mut self, uri: &str, text: &str, version: Option<i64>) -> Vec<Json> {
        let earlier = self.documents.remove(uri);
        let others: usize = self.documents.values().map(|other| other.text.len()).sum();
        if self.documents.len() >= OPEN_DOCUMENTS_MAX || others + text.len() > OPEN_BYTES_MAX {
            let message = "too many documents are open; close some to have this one checked";
            let params = json!({ "type": 1, "message": message });
            return vec![notification("window/showMessage", &params)];
        }
        let mut document = OpenDocument::new(uri, text, earlier);
        let flaws = document.diagnostics(&self.known_servers);
        if text.len() > tramline_syntax::document::BYTES_MAX {
            // Its one flaw says that it is too large; nothing else is done with it.
            document.text.clear();
            document.nodes.clear();
        }
        self.documents.insert(uri.to_owned(), document);
        vec![publish(uri, version, flaws)]
    }
}

fn capabilities() -> Json {
    json!({
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": { "openClose": true, "change": 1 },
            "hoverProvider": true,
            "definitionProvider": true,
            "renameProvider": { "prepareProvider": true },
            "completionProvider": { "triggerCharacters": [":", " ", "\"", "-"] },
        },
        "serverInfo": { "name": "tramline", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn reply(id: &Json, result: Result<Json, RequestError>) -> Json {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(RequestError { code, message }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
    }
}

fn notification(method: &str, params: &Json) -> Json {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn publish(uri: &str, version: Option<i64>, diagnostics: Vec<Json>) -> Json {
    let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
    if let Some(version) = version {
        params["version"] = version.into();
    }
    notification("textDocument/publishDiagnostics", &params)
}
