//! The parts of a document put together in the shape of an IR.

use super::lines::{Lines, bullet};
use super::outline::{Block, Entity, Outline, Section};
use crate::flaw::Code;
use crate::formats::document::graft::Piece;
use crate::formats::document::{Grafting, Span, Style, Tree};
use crate::text::shown;
use std::ops::Range;
use std::rc::Rc;
use tramline_expr::Value;

/// What a step says beside its parameters.
pub(super) const OWN: [&str; 14] = [
    "type",
    "batch",
    "loop",
    "retry",
    "approval",
    "next",
    "on-error",
    "inputs",
    "cache",
    "prompt_cache",
    "prewarm",
    "idempotent",
    "readOnly",
    "join",
];
/// What front matter may say about the whole.
const FRONT: [&str; 4] = ["name", "mcpServers", "servers", "executionLimits"];
/// Parameters in whose single line ` #` begins a remark: they are never prose.
const REMARKED: [&str; 7] = [
    "type", "next", "on-error", "workflow", "while", "until", "source",
];
/// Blocks that hold YAML even if their fence does not say so.
const STRUCTURED: [&str; 5] = ["batch", "loop", "retry", "inputs", "output_schema"];

/// A parameter.
struct Entry {
    key: String,
    span: Span,
    value: Given,
}

enum Given {
    /// A text without quotes.
    Plain(String, Span),
    /// A fenced text.
    Text(String, Span),
    /// A piece of YAML.
    Piece(Piece),
    /// One field of a piece of YAML.
    Field(Rc<Piece>, usize),
}

pub(super) struct Parts<'l, 't, 'f> {
    pub(super) lines: &'l Lines<'t>,
    pub(super) grafting: Grafting<'t, 'f>,
}

impl<'t> Parts<'_, 't, '_> {
    pub(super) fn put_together(mut self, outline: &Outline) -> Option<Tree> {
        let end = Span::at(self.lines.count().max(1) as u32, 1);
        self.grafting.open(Style::Mapping, Span::at(1, 1));
        self.front(outline);
        if let Some((at, words)) = &outline.title {
            let title = &self.lines.get(*at)[words.clone()];
            let span = self.lines.span(*at, words.clone());
            self.grafting.key("title", span);
            self.grafting.scalar(title.into(), Style::Plain, span);
        }
        self.prose("description", &outline.prose);
        for (section, key) in [
            (Section::Inputs, "inputs"),
            (Section::Steps, "nodes"),
            (Section::Outputs, "outputs"),
        ] {
            let begin = outline.sections.iter().find(|(one, _)| *one == section);
            let entities = outline.entities.iter().filter(|one| one.section == section);
            let Some((_, line)) = begin else {
                continue;
            };
            let span = self.lines.whole(*line);
            self.grafting.key(key, span);
            let style = match section {
                Section::Steps => Style::Sequence,
                Section::Inputs | Section::Outputs => Style::Mapping,
            };
            self.grafting.open(style, span);
            entities.for_each(|entity| self.entity(entity));
            self.grafting.close(end);
        }
        self.grafting.close(end);
        self.grafting.finish()
    }

    fn front(&mut self, outline: &Outline) {
        let Some(lines) = outline.front.clone().filter(|lines| !lines.is_empty()) else {
            return;
        };
        let start = self.lines.spot(lines.start, 0);
        let Some(piece) = self.grafting.yaml(self.lines.bytes(&lines), start) else {
            return;
        };
        // What else stands there is for other programs.
        for field in piece.fields().into_iter().flatten() {
            if FRONT.contains(&field.key.as_str()) {
                self.grafting.key(&field.key, field.span);
                self.grafting.field(&field);
            }
        }
    }

    /// Prose: its paragraphs, with what stands around them taken off.
    fn prose(&mut self, key: &str, at: &[usize]) {
        let text: Vec<_> = at.iter().map(|at| self.lines.get(*at).trim_end()).collect();
        let text = text.join("\n");
        let (Some(first), false) = (at.first(), text.trim().is_empty()) else {
            return;
        };
        let span = self.lines.whole(*first);
        self.grafting.key(key, span);
        let text = text.trim().into();
        self.grafting.scalar(text, Style::Plain, span);
    }

    fn entity(&mut self, entity: &Entity) {
        let span = self.lines.span(entity.line, entity.name.clone());
        let name = &self.lines.get(entity.line)[entity.name.clone()];
        let entries = self.entries(entity);
        match entity.section {
            Section::Inputs | Section::Outputs => {
                self.grafting.key(name, span);
                self.grafting.open(Style::Mapping, span);
                self.prose("description", &entity.prose);
                entries.iter().for_each(|entry| self.entry(entry));
            }
            Section::Steps => {
                self.grafting.open(Style::Mapping, span);
                self.grafting.key("id", span);
                self.grafting.scalar(name.into(), Style::Plain, span);
                self.prose("purpose", &entity.prose);
                let (own, params): (Vec<_>, Vec<_>) = entries.iter().partition(|one| is_own(one));
                own.into_iter().for_each(|entry| self.entry(entry));
                if let Some(first) = params.first() {
                    self.grafting.key("params", first.span);
                    self.grafting.open(Style::Mapping, first.span);
                    params.into_iter().for_each(|entry| self.entry(entry));
                    self.grafting.close(span);
                }
            }
        }
        self.grafting.close(span);
    }

    fn entry(&mut self, entry: &Entry) {
        self.grafting.key(&entry.key, entry.span);
        match &entry.value {
            Given::Plain(text, span) => self.grafting.plain(text, *span),
            Given::Text(text, span) => {
                self.grafting
                    .scalar(text.as_str().into(), Style::Literal, *span);
            }
            Given::Piece(piece) => self.grafting.piece(piece),
            Given::Field(piece, at) => {
                let fields = piece.fields().unwrap_or_default();
                if let Some(field) = fields.get(*at) {
                    self.grafting.field(field);
                }
            }
        }
    }

    fn entries(&mut self, entity: &Entity) -> Vec<Entry> {
        let mut entries = Vec::new();
        for lines in &entity.items {
            match lines.len() {
                1 => entries.extend(self.line(lines.start)),
                _ => self.item(lines, &mut entries),
            }
        }
        for block in &entity.blocks {
            entries.extend(self.block(block));
        }
        entries
    }

    fn no_parameter(&mut self, at: usize) {
        let line = self.lines.get(at).trim();
        let said = line.trim_start_matches('-').trim();
        let message = format!("`{}` is no parameter", shown(said));
        let hint = "write `- key: value`; a remark in the text begins with `*`";
        let span = self.lines.whole(at);
        self.grafting.flaw(Code::WrongType, span, message, hint);
    }

    /// A parameter in one line. What follows its key is taken as it stands, unless it begins like
    /// a text in quotes, a list or an object.
    fn line(&mut self, at: usize) -> Option<Entry> {
        let line = self.lines.get(at);
        let begin = bullet(line)?;
        let begin = line.len() - line[begin..].trim_start().len();
        let colon = line[begin..].find(':').map(|colon| begin + colon);
        let colon = colon
            .filter(|colon| matches!(line[colon + 1..].chars().next(), None | Some(' ' | '\t')));
        let Some(colon) = colon.filter(|colon| !line[begin..*colon].contains([' ', '"', '\'']))
        else {
            self.no_parameter(at);
            return None;
        };
        let key = line[begin..colon].to_owned();
        let mut value = line[colon + 1..].trim_end();
        if REMARKED.contains(&key.as_str()) {
            let remark = value.find(" #").unwrap_or(value.len());
            value = value[..remark].trim_end();
        }
        let first = colon + 1 + (value.len() - value.trim_start().len());
        let last = colon + 1 + value.len();
        let value = value.trim();
        let span = self.lines.span(at, begin..colon);
        let value = if value.starts_with(['"', '\'', '[', '{']) {
            let from = self.lines.bytes(&(at..at + 1)).start;
            let start = self.lines.spot(at, first);
            Given::Piece(self.grafting.yaml(from + first..from + last, start)?)
        } else {
            Given::Plain(
                value.to_owned(),
                self.lines.span(at, first..last.max(first)),
            )
        };
        Some(Entry { key, span, value })
    }

    /// A parameter over several lines: YAML.
    fn item(&mut self, lines: &Range<usize>, entries: &mut Vec<Entry>) {
        let start = self.lines.spot(lines.start, 0);
        let Some(piece) = self.grafting.yaml(self.lines.bytes(lines), start) else {
            return;
        };
        let piece = Rc::new(piece);
        let Some(fields) = piece.fields() else {
            return self.no_parameter(lines.start);
        };
        for (at, field) in fields.iter().enumerate() {
            entries.push(Entry {
                key: field.key.to_string(),
                span: field.span,
                value: Given::Field(Rc::clone(&piece), at),
            });
        }
    }

    /// A fenced block: the last word after the fence is the parameter, the one before its language.
    fn block(&mut self, block: &Block) -> Option<Entry> {
        let span = self.lines.whole(block.line);
        let words: Vec<_> = block.tag.split_whitespace().collect();
        let Some(key) = words.last() else {
            let message = "nothing says which parameter this block is".to_owned();
            let hint = "name it after the fence: ```prompt; longer fences hold shorter ones";
            self.grafting.flaw(Code::Missing, span, message, hint);
            return None;
        };
        let language = words[0].to_ascii_lowercase();
        let is_data = words.len() > 1 && ["yaml", "yml", "json"].contains(&language.as_str());
        let bytes = self.lines.bytes(&block.content);
        let value = if is_data || STRUCTURED.contains(key) {
            let start = self.lines.spot(block.content.start, 0);
            Given::Piece(self.grafting.yaml(bytes, start)?)
        } else {
            let text = self.lines.text.get(bytes).unwrap_or_default();
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            Given::Text(text, self.lines.block(&block.content))
        };
        Some(Entry {
            key: (*key).to_owned(),
            span,
            value,
        })
    }
}

/// Whether a parameter is about the step itself. A time-out with a unit is, one without is a
/// parameter in seconds.
fn is_own(entry: &Entry) -> bool {
    let unit = |text: &str| crate::text::milliseconds(text).is_some();
    match &entry.value {
        Given::Plain(text, _) if entry.key == "timeout" => {
            unit(text) && text.parse::<f64>().is_err()
        }
        Given::Piece(piece) if entry.key == "timeout" => {
            piece.value().as_str().is_some_and(unit) && !matches!(piece.value(), Value::Null)
        }
        Given::Plain(..) | Given::Text(..) | Given::Piece(_) | Given::Field(..) => {
            OWN.contains(&entry.key.as_str())
        }
    }
}
