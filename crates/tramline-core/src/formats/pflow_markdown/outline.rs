//! The outline of a document: its title, its sections, and in them inputs, steps and outputs.

use super::lines::{Lines, bullet, fence, heading, indent, opens_text};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::Span;
use crate::formats::document::marks::place;
use crate::text::{nearest, shown};
use std::ops::Range;

/// The sections that mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Inputs,
    Steps,
    Outputs,
}

impl Section {
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

    /// What one of its entries is called.
    pub(super) fn entry(self) -> &'static str {
        match self {
            Self::Inputs => "an input",
            Self::Steps => "a step",
            Self::Outputs => "an output",
        }
    }
}

/// An input, a step or an output: what stands under its heading, by lines.
pub(super) struct Entity {
    pub(super) section: Section,
    /// The line of its heading, and the bytes of its name in it.
    pub(super) line: usize,
    pub(super) name: Range<usize>,
    pub(super) prose: Vec<usize>,
    /// The lines of each parameter.
    pub(super) items: Vec<Range<usize>>,
    pub(super) blocks: Vec<Block>,
}

/// A fenced block.
pub(super) struct Block {
    /// The line of its first fence.
    pub(super) line: usize,
    /// The words after the fence.
    pub(super) tag: String,
    pub(super) content: Range<usize>,
}

/// A document taken apart.
#[derive(Default)]
pub(super) struct Outline {
    pub(super) front: Option<Range<usize>>,
    pub(super) title: Option<(usize, Range<usize>)>,
    pub(super) prose: Vec<usize>,
    /// Where each section begins.
    pub(super) sections: Vec<(Section, usize)>,
    pub(super) entities: Vec<Entity>,
}

impl Outline {
    pub(super) fn of(lines: &Lines<'_>, flaws: &mut Flaws) -> Self {
        let mut outline = Self::default();
        let mut at = 0;
        if lines.get(0).trim_end() == "---" {
            let end = (1..lines.count()).find(|at| lines.get(*at).trim_end() == "---");
            if let Some(end) = end {
                outline.front = Some(1..end);
                at = end + 1;
            }
        }
        let mut walk = Walk {
            lines,
            outline,
            here: Here::Top,
            flaws,
        };
        while at < lines.count() {
            at = walk.step(at);
        }
        walk.outline
    }
}

/// Which part of a document the lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Here {
    /// Before any section.
    Top,
    /// In a section that means something, before its first entry.
    Section(Section),
    /// In the last entry.
    Entity,
    /// In a section that is just text.
    Elsewhere,
}

struct Walk<'l, 't, 'f> {
    lines: &'l Lines<'t>,
    outline: Outline,
    here: Here,
    flaws: &'f mut Flaws,
}

impl Walk<'_, '_, '_> {
    /// Takes what begins at a line; gives the line after it.
    fn step(&mut self, at: usize) -> usize {
        let line = self.lines.get(at);
        if let Some((sign, count, tag)) = fence(line) {
            return self.block(at, sign, count, tag);
        }
        if let Some((level, words)) = heading(line) {
            self.heading(at, level, words);
            return at + 1;
        }
        match self.here {
            Here::Entity => {
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
            Here::Top => self.outline.prose.push(at),
            Here::Section(section) => {
                if bullet(line).is_some() {
                    self.stray(at, section);
                }
            }
            Here::Elsewhere => {}
        }
        at + 1
    }

    fn stray(&mut self, at: usize, section: Section) {
        let entry = section.entry();
        let message = format!("this is not part of {entry}");
        let hint = format!("put it under the heading `### name` of {entry}");
        self.add(Code::UnknownField, self.lines.whole(at), message, &hint);
    }

    fn add(&mut self, code: Code, span: Span, message: String, hint: &str) {
        self.flaws
            .add(code, place(span, String::new()), message, hint);
    }

    /// The line after a parameter: what is indented below it belongs to it, and so does all of a
    /// block text, whatever it looks like.
    fn item_end(&self, at: usize, content: usize) -> usize {
        let mut text = opens_text(self.lines.get(at));
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
                text = opens_text(line);
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
            let message = "this block is never closed".to_owned();
            let hint = format!("close it with a line {}", sign.to_string().repeat(count));
            self.add(Code::Syntax, self.lines.whole(at), message, &hint);
        }
        let end = close.unwrap_or(self.lines.count());
        match self.here {
            Here::Entity => {
                if let Some(entity) = self.outline.entities.last_mut() {
                    entity.blocks.push(Block {
                        line: at,
                        tag: tag.to_owned(),
                        content: at + 1..end,
                    });
                }
            }
            Here::Section(section) => self.stray(at, section),
            Here::Top | Here::Elsewhere => {}
        }
        end + 1
    }

    fn heading(&mut self, at: usize, level: usize, words: Range<usize>) {
        let name = &self.lines.get(at)[words.clone()];
        match level {
            1 => {
                if self.outline.title.is_none() && self.here == Here::Top {
                    self.outline.title = Some((at, words));
                } else {
                    self.here = Here::Elsewhere;
                }
            }
            2 => self.section(at, name, words),
            _ => {
                let section = match self.here {
                    Here::Section(section) => section,
                    Here::Entity => match self.outline.entities.last() {
                        Some(entity) => entity.section,
                        None => return,
                    },
                    Here::Top | Here::Elsewhere => return,
                };
                self.here = Here::Entity;
                self.check_name(at, name, &words, section);
                self.outline.entities.push(Entity {
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
        self.here = match Section::named(name) {
            None => Here::Elsewhere,
            Some(section) => {
                let known = self.outline.sections.iter();
                if let Some((_, first)) = known.clone().find(|(known, _)| *known == section) {
                    let message = format!(
                        "there is a second section `{}`, the first is in line {}",
                        shown(name),
                        first + 1
                    );
                    self.add(Code::Duplicate, span, message, "put both together");
                }
                self.outline.sections.push((section, at));
                return self.here = Here::Section(section);
            }
        };
        let known = Section::ALL.iter().map(|(_, known)| *known);
        if let Some(near) = nearest(&name.to_ascii_lowercase(), known) {
            let mut near = near.to_owned();
            near[..1].make_ascii_uppercase();
            let message = format!("the section `{}` means nothing here", shown(name));
            let hint = format!("did you mean `{near}`?");
            self.add(Code::UnknownField, span, message, &hint);
        } else if name.eq_ignore_ascii_case("cache") {
            let message = "`Cache` does nothing: no part of a prompt is kept".to_owned();
            self.add(Code::UnknownField, span, message, "remove it");
        }
    }

    fn check_name(&mut self, at: usize, name: &str, words: &Range<usize>, section: Section) {
        if name.is_empty() || name.contains(char::is_whitespace) {
            let message = format!(
                "`{}` cannot be the name of {}",
                shown(name),
                section.entry()
            );
            let hint = "use letters, digits, `-` and `_`, and no blanks";
            self.add(
                Code::WrongType,
                self.lines.span(at, words.clone()),
                message,
                hint,
            );
        }
    }
}
