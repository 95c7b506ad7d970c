//! Assembles the parts of a document into the shape of an IR.

use super::markdown_lines::{MarkdownLines, bullet};
use super::outline::{MarkdownSection, OutlineEntry, StepBlock, WorkflowOutline};
use std::ops::Range;
use std::rc::Rc;
use tramline_expr::Value;
use tramline_syntax::document::embedded::YamlFragment;
use tramline_syntax::document::{EmbeddedBuilder, SourceRange, SourceTree, YamlStyle};
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::display_name;

/// The fields of a step that are not parameters of its tool.
pub(super) const STEP_FIELDS: [&str; 17] = [
    "type",
    "batch",
    "loop",
    "retry",
    "approval",
    "next",
    "on-error",
    "on-decline",
    "on-cancel",
    "on-timeout",
    "inputs",
    "cache",
    "prompt_cache",
    "prewarm",
    "idempotent",
    "readOnly",
    "join",
];
/// The front matter fields that are read.
const FRONT_MATTER_FIELDS: [&str; 4] = ["name", "mcpServers", "servers", "executionLimits"];
/// Parameters whose line may end with a ` #` comment, because their values never contain prose.
const COMMENTED_FIELDS: [&str; 10] = [
    "type",
    "next",
    "on-error",
    "on-decline",
    "on-cancel",
    "on-timeout",
    "workflow",
    "while",
    "until",
    "source",
];
/// Blocks that contain YAML even if their fence does not say so.
const YAML_BLOCKS: [&str; 5] = ["batch", "loop", "retry", "inputs", "output_schema"];

/// A parameter.
struct StepParameter {
    key: String,
    span: SourceRange,
    value: ParameterValue,
}

enum ParameterValue {
    /// An unquoted scalar.
    Plain(String, SourceRange),
    /// A fenced text.
    Text(String, SourceRange),
    /// A YAML fragment.
    Fragment(YamlFragment),
    /// One field of a YAML fragment.
    Field(Rc<YamlFragment>, usize),
}

pub(super) struct IrAssembler<'l, 't, 'f> {
    pub(super) lines: &'l MarkdownLines<'t>,
    pub(super) builder: EmbeddedBuilder<'t, 'f>,
}

impl<'t> IrAssembler<'_, 't, '_> {
    pub(super) fn assemble(mut self, outline: &WorkflowOutline) -> Option<SourceTree> {
        let end = SourceRange::single_char(self.lines.count().max(1) as u32, 1);
        self.builder
            .unmask_value(YamlStyle::Mapping, SourceRange::single_char(1, 1));
        self.add_front_matter(outline);
        if let Some((at, words)) = &outline.title {
            let title = &self.lines.get(*at)[words.clone()];
            let span = self.lines.span(*at, words.clone());
            self.builder.key("title", span);
            self.builder.scalar(title.into(), YamlStyle::Plain, span);
        }
        self.add_prose("description", &outline.prose);
        for (section, key) in [
            (MarkdownSection::Inputs, "inputs"),
            (MarkdownSection::Steps, "nodes"),
            (MarkdownSection::Outputs, "outputs"),
        ] {
            let begin = outline.sections.iter().find(|(one, _)| *one == section);
            let entities = outline.entities.iter().filter(|one| one.section == section);
            let Some((_, line)) = begin else {
                continue;
            };
            let span = self.lines.line_span(*line);
            self.builder.key(key, span);
            let style = match section {
                MarkdownSection::Steps => YamlStyle::Sequence,
                MarkdownSection::Inputs | MarkdownSection::Outputs => YamlStyle::Mapping,
            };
            self.builder.unmask_value(style, span);
            entities.for_each(|entity| self.add_entity(entity));
            self.builder.close(end);
        }
        self.builder.close(end);
        self.builder.finish()
    }

    fn add_front_matter(&mut self, outline: &WorkflowOutline) {
        let Some(lines) = outline
            .front_matter
            .clone()
            .filter(|lines| !lines.is_empty())
        else {
            return;
        };
        let start = self.lines.position(lines.start, 0);
        let Some(piece) = self.builder.parse_yaml(self.lines.bytes(&lines), start) else {
            return;
        };
        // Other fields are for other programs.
        for field in piece.fields().into_iter().flatten() {
            if FRONT_MATTER_FIELDS.contains(&field.key.as_str()) {
                self.builder.key(&field.key, field.span);
                self.builder.field(&field);
            }
        }
    }

    /// Adds prose, without surrounding blank lines.
    fn add_prose(&mut self, key: &str, at: &[usize]) {
        let text: Vec<_> = at.iter().map(|at| self.lines.get(*at).trim_end()).collect();
        let text = text.join("\n");
        let (Some(first), false) = (at.first(), text.trim().is_empty()) else {
            return;
        };
        let span = self.lines.line_span(*first);
        self.builder.key(key, span);
        let text = text.trim().into();
        self.builder.scalar(text, YamlStyle::Plain, span);
    }

    fn add_entity(&mut self, entity: &OutlineEntry) {
        let span = self.lines.span(entity.line, entity.name.clone());
        let name = &self.lines.get(entity.line)[entity.name.clone()];
        let entries = self.read_parameters(entity);
        match entity.section {
            MarkdownSection::Inputs | MarkdownSection::Outputs => {
                self.builder.key(name, span);
                self.builder.unmask_value(YamlStyle::Mapping, span);
                self.add_prose("description", &entity.prose);
                entries.iter().for_each(|entry| self.add_parameter(entry));
            }
            MarkdownSection::Steps => {
                self.builder.unmask_value(YamlStyle::Mapping, span);
                self.builder.key("id", span);
                self.builder.scalar(name.into(), YamlStyle::Plain, span);
                self.add_prose("purpose", &entity.prose);
                let (own, params): (Vec<_>, Vec<_>) =
                    entries.iter().partition(|one| is_step_field(one));
                own.into_iter().for_each(|entry| self.add_parameter(entry));
                if let Some(first) = params.first() {
                    self.builder.key("params", first.span);
                    self.builder.unmask_value(YamlStyle::Mapping, first.span);
                    params
                        .into_iter()
                        .for_each(|entry| self.add_parameter(entry));
                    self.builder.close(span);
                }
            }
        }
        self.builder.close(span);
    }

    fn add_parameter(&mut self, entry: &StepParameter) {
        self.builder.key(&entry.key, entry.span);
        match &entry.value {
            ParameterValue::Plain(text, span) => self.builder.plain_scalar(text, *span),
            ParameterValue::Text(text, span) => {
                self.builder
                    .scalar(text.as_str().into(), YamlStyle::Literal, *span);
            }
            ParameterValue::Fragment(piece) => self.builder.fragment(piece),
            ParameterValue::Field(piece, at) => {
                let fields = piece.fields().unwrap_or_default();
                if let Some(field) = fields.get(*at) {
                    self.builder.field(field);
                }
            }
        }
    }

    fn read_parameters(&mut self, entity: &OutlineEntry) -> Vec<StepParameter> {
        let mut entries = Vec::new();
        for lines in &entity.items {
            match lines.len() {
                1 => entries.extend(self.read_line(lines.start)),
                _ => self.read_item(lines, &mut entries),
            }
        }
        for block in &entity.blocks {
            entries.extend(self.read_block(block));
        }
        entries
    }

    fn report_non_parameter(&mut self, at: usize) {
        let line = self.lines.get(at).trim();
        let said = line.trim_start_matches('-').trim();
        let message = format!("`{}` is not a parameter", display_name(said));
        let hint = "write `- key: value`; use `*` for list items in prose";
        let span = self.lines.line_span(at);
        self.builder
            .report(FlawCode::WrongType, span, message, hint);
    }

    /// Parses a one-line parameter. The value is taken verbatim, unless it starts like a quoted string, a
    /// list or an object.
    fn read_line(&mut self, at: usize) -> Option<StepParameter> {
        let line = self.lines.get(at);
        let begin = bullet(line)?;
        let begin = line.len() - line[begin..].trim_start().len();
        let colon = line[begin..].find(':').map(|colon| begin + colon);
        let colon = colon
            .filter(|colon| matches!(line[colon + 1..].chars().next(), None | Some(' ' | '\t')));
        let Some(colon) = colon.filter(|colon| !line[begin..*colon].contains([' ', '"', '\'']))
        else {
            self.report_non_parameter(at);
            return None;
        };
        let key = line[begin..colon].to_owned();
        let mut value = line[colon + 1..].trim_end();
        if COMMENTED_FIELDS.contains(&key.as_str()) {
            let remark = value.find(" #").unwrap_or(value.len());
            value = value[..remark].trim_end();
        }
        let first = colon + 1 + (value.len() - value.trim_start().len());
        let last = colon + 1 + value.len();
        let value = value.trim();
        let span = self.lines.span(at, begin..colon);
        let value = if value.starts_with(['"', '\'', '[', '{']) {
            let from = self.lines.bytes(&(at..at + 1)).start;
            let start = self.lines.position(at, first);
            ParameterValue::Fragment(self.builder.parse_yaml(from + first..from + last, start)?)
        } else {
            ParameterValue::Plain(
                value.to_owned(),
                self.lines.span(at, first..last.max(first)),
            )
        };
        Some(StepParameter { key, span, value })
    }

    /// Parses a parameter of several lines as YAML.
    fn read_item(&mut self, lines: &Range<usize>, entries: &mut Vec<StepParameter>) {
        let start = self.lines.position(lines.start, 0);
        let Some(piece) = self.builder.parse_yaml(self.lines.bytes(lines), start) else {
            return;
        };
        let piece = Rc::new(piece);
        let Some(fields) = piece.fields() else {
            return self.report_non_parameter(lines.start);
        };
        for (at, field) in fields.iter().enumerate() {
            entries.push(StepParameter {
                key: field.key.to_string(),
                span: field.span,
                value: ParameterValue::Field(Rc::clone(&piece), at),
            });
        }
    }

    /// Parses a fenced block: the last word after the fence is the parameter, the one before its language.
    fn read_block(&mut self, block: &StepBlock) -> Option<StepParameter> {
        let span = self.lines.line_span(block.line);
        let words: Vec<_> = block.tag.split_whitespace().collect();
        let Some(key) = words.last() else {
            let message = "this block does not name its parameter".to_owned();
            let hint = "name it after the fence: ```prompt";
            self.builder
                .report(FlawCode::MissingField, span, message, hint);
            return None;
        };
        let language = words[0].to_ascii_lowercase();
        let is_data = words.len() > 1 && ["yaml", "yml", "json"].contains(&language.as_str());
        let bytes = self.lines.bytes(&block.content);
        let value = if is_data || YAML_BLOCKS.contains(key) {
            let start = self.lines.position(block.content.start, 0);
            ParameterValue::Fragment(self.builder.parse_yaml(bytes, start)?)
        } else {
            let text = self.lines.text.get(bytes).unwrap_or_default();
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            ParameterValue::Text(text, self.lines.lines_span(&block.content))
        };
        Some(StepParameter {
            key: (*key).to_owned(),
            span,
            value,
        })
    }
}

/// Whether a parameter belongs to the step itself. A timeout with a unit does; one without is a tool
/// parameter in seconds.
fn is_step_field(entry: &StepParameter) -> bool {
    let unit = |text: &str| tramline_workflow::text::parse_duration_ms(text).is_some();
    match &entry.value {
        ParameterValue::Plain(text, _) if entry.key == "timeout" => {
            unit(text) && text.parse::<f64>().is_err()
        }
        ParameterValue::Fragment(piece) if entry.key == "timeout" => {
            piece.value().as_str().is_some_and(unit) && !matches!(piece.value(), Value::Null)
        }
        ParameterValue::Plain(..)
        | ParameterValue::Text(..)
        | ParameterValue::Fragment(_)
        | ParameterValue::Field(..) => STEP_FIELDS.contains(&entry.key.as_str()),
    }
}
