//! The outline of a document: its title, its sections, and their inputs, steps and outputs.

use super::markdown_lines::{MarkdownLines, bullet, fence, heading, indent, opens_block_scalar};
use std::ops::Range;
use tramline_syntax::FlawCollector;
use tramline_syntax::document::SourceRange;
use tramline_syntax::document::spans::place;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::{display_name, nearest};

/// The known sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkdownSection {
    Inputs,
    Steps,
    Outputs,
}

impl MarkdownSection {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Inputs, "inputs"),
        (Self::Steps, "steps"),
        (Self::Outputs, "outputs"),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let mut all = Self::ALL.iter();
        all.find(|(_, known)| *known == name)
            .map(|(section, _)| *section)
    }

    /// The noun for one of its entries.
    pub(super) fn entry(self) -> &'static str {
        match self {
            Self::Inputs => "an input",
            Self::Steps => "a step",
            Self::Outputs => "an output",
        }
    }
}

/// An input, a step or an output: the content below its heading, by lines.
pub(super) struct OutlineEntry {
    pub(super) section: MarkdownSection,
    /// The line of its heading, and the byte range of its name.
    pub(super) line: usize,
    pub(super) name: Range<usize>,
    pub(super) prose: Vec<usize>,
    /// The lines of each parameter.
    pub(super) items: Vec<Range<usize>>,
    pub(super) blocks: Vec<StepBlock>,
}

/// A fenced block.
pub(super) struct StepBlock {
    /// The line of its opening fence.
    pub(super) line: usize,
    /// The text after the fence.
    pub(super) tag: String,
    pub(super) content: Range<usize>,
}

/// The outline of a document.
#[derive(Default)]
pub(super) struct WorkflowOutline {
    pub(super) front_matter: Option<Range<usize>>,
    pub(super) title: Option<(usize, Range<usize>)>,
    pub(super) prose: Vec<usize>,
    /// The first line of each section.
    pub(super) sections: Vec<(MarkdownSection, usize)>,
    pub(super) entities: Vec<OutlineEntry>,
}

impl WorkflowOutline {
    pub(super) fn of(lines: &MarkdownLines<'_>, flaws: &mut FlawCollector) -> Self {
        let mut outline = Self::default();
        let mut at = 0;
        if lines.get(0).trim_end() == "---" {
            let end = (1..lines.count()).find(|at| lines.get(*at).trim_end() == "---");
            if let Some(end) = end {
                outline.front_matter = Some(1..end);
                at = end + 1;
            }
        }
        let mut walk = OutlineBuilder {
            lines,
            outline,
            here: OutlinePosition::Top,
            flaws,
        };
        while at < lines.count() {
            at = walk.read_element(at);
        }
        walk.outline
    }
}

/// The part of a document that the current line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutlinePosition {
    /// Before any section.
    Top,
    /// In a known section, before its first entry.
    Section(MarkdownSection),
    /// In the last entry.
    Entity,
    /// In a section that is ignored.
    Ignored,
}

struct OutlineBuilder<'l, 't, 'f> {
    lines: &'l MarkdownLines<'t>,
    outline: WorkflowOutline,
    here: OutlinePosition,
    flaws: &'f mut FlawCollector,
}

impl OutlineBuilder<'_, '_, '_> {
    /// Processes the element that starts at a line and returns the line after it.
    fn read_element(&mut self, at: usize) -> usize {
        let line = self.lines.get(at);
        if let Some((sign, count, tag)) = fence(line) {
            return self.block(at, sign, count, tag);
        }
        if let Some((level, words)) = heading(line) {
            self.heading(at, level, words);
            return at + 1;
        }
        match self.here {
            OutlinePosition::Entity => {
                if let Some(content) = bullet(line) {
                    let end = self.item_end(at, content);
                    if let Some(entity) = self.outline.entities.last_mut() {
                        entity.items.push(at..end);
                    }
                    return end;
                }
                if let Some(entity) = self.outline.entities.last_mut() {
                    entity.prose.push(at);
                }
            }
            OutlinePosition::Top => self.outline.prose.push(at),
            OutlinePosition::Section(section) => {
                if bullet(line).is_some() {
                    self.report_stray(at, section);
                }
            }
            OutlinePosition::Ignored => {}
        }
        at + 1
    }

    fn report_stray(&mut self, at: usize, section: MarkdownSection) {
        let entry = section.entry();
        let message = format!("this is not part of {entry}");
        let hint = format!("move it below the `### name` heading of {entry}");
        self.report(
            FlawCode::UnknownField,
            self.lines.line_span(at),
            message,
            &hint,
        );
    }

    fn report(&mut self, code: FlawCode, span: SourceRange, message: String, hint: &str) {
        self.flaws
            .add(code, place(span, String::new()), message, hint);
    }

    /// The line after a parameter: lines indented below it belong to it, and so do all lines of a block
    /// scalar.
    fn item_end(&self, at: usize, content: usize) -> usize {
        let mut text = opens_block_scalar(self.lines.get(at));
        let mut end = at + 1;
        let mut next = end;
        while next < self.lines.count() {
            let line = self.lines.get(next);
            next += 1;
            if line.trim().is_empty() {
                continue;
            }
            let inside = text.is_some_and(|key| indent(line) > key);
            if !inside {
                let below = indent(line) >= content || line.starts_with('\t');
                if !below || fence(line).is_some() {
                    break;
                }
                text = opens_block_scalar(line);
            }
            end = next;
        }
        end
    }

    fn block(&mut self, at: usize, sign: char, count: usize, tag: &str) -> usize {
        let closes = |at: &usize| {
            fence(self.lines.get(*at)).is_some_and(|(other, many, rest)| {
                other == sign && many >= count && rest.is_empty()
            })
        };
        let close = (at + 1..self.lines.count()).find(closes);
        if close.is_none() {
            let message = "this block is not closed".to_owned();
            let hint = format!("close it with a line {}", sign.to_string().repeat(count));
            self.report(FlawCode::Syntax, self.lines.line_span(at), message, &hint);
        }
        let end = close.unwrap_or(self.lines.count());
        match self.here {
            OutlinePosition::Entity => {
                if let Some(entity) = self.outline.entities.last_mut() {
                    entity.blocks.push(StepBlock {
                        line: at,
                        tag: tag.to_owned(),
                        content: at + 1..end,
                    });
                }
            }
            OutlinePosition::Section(section) => self.report_stray(at, section),
            OutlinePosition::Top | OutlinePosition::Ignored => {}
        }
        end + 1
    }

    fn heading(&mut self, at: usize, level: usize, words: Range<usize>) {
        let name = &self.lines.get(at)[words.clone()];
        match level {
            1 => {
                if self.outline.title.is_none() && self.here == OutlinePosition::Top {
                    self.outline.title = Some((at, words));
                } else {
                    self.here = OutlinePosition::Ignored;
                }
            }
            2 => self.section(at, name, words),
            _ => {
                let section = match self.here {
                    OutlinePosition::Section(section) => section,
                    OutlinePosition::Entity => match self.outline.entities.last() {
                        Some(entity) => entity.section,
                        None => return,
                    },
                    OutlinePosition::Top | OutlinePosition::Ignored => return,
                };
                self.here = OutlinePosition::Entity;
                self.check_name(at, name, &words, section);
                self.outline.entities.push(OutlineEntry {
                    section,
                    line: at,
                    name: words,
                    prose: Vec::new(),
                    items: Vec::new(),
                    blocks: Vec::new(),
                });
            }
        }
    }

    fn section(&mut self, at: usize, name: &str, words: Range<usize>) {
        let span = self.lines.span(at, words);
        self.here = match MarkdownSection::named(name) {
            None => OutlinePosition::Ignored,
            Some(section) => {
                let known = self.outline.sections.iter();
                if let Some((_, first)) = known.clone().find(|(known, _)| *known == section) {
                    let message = format!(
                        "the section `{}` appears twice, first in line {}",
                        display_name(name),
                        first + 1
                    );
                    self.report(FlawCode::Duplicate, span, message, "merge them");
                }
                self.outline.sections.push((section, at));
                return self.here = OutlinePosition::Section(section);
            }
        };
        let known = MarkdownSection::ALL.iter().map(|(_, known)| *known);
        if let Some(near) = nearest(&name.to_ascii_lowercase(), known) {
            let mut near = near.to_owned();
            near[..1].make_ascii_uppercase();
            let message = format!("unknown section `{}`", display_name(name));
            let hint = format!("did you mean `{near}`?");
            self.report(FlawCode::UnknownField, span, message, &hint);
        } else if name.eq_ignore_ascii_case("cache") {
            let message = "`Cache` has no effect: prompts are not cached".to_owned();
            self.report(FlawCode::UnknownField, span, message, "remove it");
        }
    }

    fn check_name(
        &mut self,
        at: usize,
        name: &str,
        words: &Range<usize>,
        section: MarkdownSection,
    ) {
        if name.is_empty() || name.contains(char::is_whitespace) {
            let message = format!(
                "`{}` cannot be the name of {}",
                display_name(name),
                section.entry()
            );
            let hint = "use letters, digits, `-` and `_`, without spaces";
            self.report(
                FlawCode::WrongType,
                self.lines.span(at, words.clone()),
                message,
                hint,
            );
        }
    }
}
